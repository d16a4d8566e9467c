#include "env.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"
#include "log.h"
#include "platform.h"

typedef struct variable_t {
  const char *name, *default_text, *help;
  int64_t minimum, maximum; /* both 0: a text */
} variable_t;

#define VARIABLE(constant, name, text, minimum, maximum, help) {name, text, help, minimum, maximum},
static const variable_t variables[WIA__ENV_COUNT] = {WIA__ENV_MAP(VARIABLE)};
#undef VARIABLE

/* Read once each: a program may change its environment while other threads run. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *texts[WIA__ENV_COUNT];
static bool warned[WIA__ENV_COUNT];

const char *wia__env_text(wia__env_t variable) {
  pthread_mutex_lock(&mutex);
  if (texts[variable] == NULL) {
    const char *value = wia__get_environment(variables[variable].name);
    if (value == NULL || value[0] == '\0')
      texts[variable] = variables[variable].default_text;
    else
      texts[variable] = strdup(value);
  }
  const char *text = texts[variable];
  if (text == NULL)
    text = wia__get_environment(variables[variable].name); /* no memory for a copy */
  pthread_mutex_unlock(&mutex);
  return text;
}

const char *wia__env_default(wia__env_t variable) { return variables[variable].default_text; }

static bool parse_number(const variable_t *entry, const char *text, int64_t *out_number) {
  char *end;
  const long long number = strtoll(text, &end, 10); /* saturates */
  *out_number = number;
  return end != text && *end == '\0' && number >= entry->minimum && number <= entry->maximum;
}

int64_t wia__env_number(wia__env_t variable) {
  const variable_t *entry = &variables[variable];
  const char *text = wia__env_text(variable);
  int64_t number;
  if (parse_number(entry, text, &number)) return number;
  pthread_mutex_lock(&mutex);
  const bool first = !warned[variable];
  warned[variable] = true;
  pthread_mutex_unlock(&mutex);
  if (first)
    wia__log(WIA__LOG_ENVIRONMENT, WIA_LOG_WARNING, NULL,
             "%s is \"%s\"; expected a whole number from %lld to %lld; %s is used", entry->name,
             text, (long long)entry->minimum, (long long)entry->maximum, entry->default_text);
  parse_number(entry, entry->default_text, &number);
  return number;
}

WIA_API wia_status_t wia__get_variable(uint32_t index, wia__variable_t *out_variable) {
  if (index >= WIA__ENV_COUNT) return WIA_STATUS_NOT_FOUND;
  const variable_t *entry = &variables[index];
  const char *value = wia__get_environment(entry->name);
  int64_t number;
  *out_variable = (wia__variable_t){
      .name = entry->name,
      .default_text = entry->default_text,
      .help = entry->help,
      .minimum = entry->minimum,
      .maximum = entry->maximum,
      .value = value != NULL && value[0] != '\0' ? value : NULL,
  };
  out_variable->malformed = out_variable->value != NULL && entry->maximum != 0 &&
                            !parse_number(entry, out_variable->value, &number);
  return WIA_STATUS_OK;
}

void wia__fork_environment(wia__fork_t stage) { wia__fork_mutex(stage, &mutex); }
