/* Manifests made of good ones by mutation: the reader never crashes or loses memory, and tells of what it
 * refuses where and what the problem is. What it accepts keeps the rules of manifest.h. Options: fuzz.h.
 *
 * It is linked with the reader alone, without the rest of the library. */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>

#include "folder.h"
#include "fuzz.h"
#include "manifest.h"

enum { FILES = 200, ROOM = 80 * 1024, LIMIT = 64 * 1024 };

static const char *const originals[] = {
    "name = npu\nlibrary = libnpu.so\nabi = 1.0\n",
    "# a comment\r\nname=npu\r\n\r\nlibrary\t=  /opt/npu/libnpu.so\r\nabi=1.0\r\npriority=-5",
    "name = a_1\nlibrary = ../x.so\nabi = 1.7\nfuture = 1\npriority = 100\ndefault = no\n",
    "\n\nabi = 2.0\nname = later\nlibrary = x\ndefault = yes\n"};
static const char *const pieces[] = {"=",
                                     "\n",
                                     "\r\n",
                                     "name",
                                     "library = ",
                                     "abi = 1.0\n",
                                     "priority = ",
                                     "default = ",
                                     "#",
                                     "1.0",
                                     "99999999999999999999",
                                     "-",
                                     "-2147483649",
                                     "4294967296",
                                     "0x10",
                                     "1.",
                                     ".1",
                                     "\t",
                                     "\v\f",
                                     "\x80\xff",
                                     "%s%n%d",
                                     "yes\n",
                                     "no\n",
                                     "= = =",
                                     "name = x\n",
                                     "/",
                                     "name = npu\n"};

static char text[ROOM];
static size_t size;

static void insert(size_t at, const char *bytes, size_t count) {
  if (size + count > ROOM) return;
  memmove(text + at + count, text + at, size - at);
  memcpy(text + at, bytes, count);
  size += count;
}

static void erase(size_t at, size_t count) {
  if (count > size - at) count = size - at;
  memmove(text + at, text + at + count, size - at - count);
  size -= count;
}

static void mutate(fuzz_random_t *random) {
  const size_t at = fuzz_below(random, (uint32_t)size + 1);
  const char *piece = pieces[fuzz_below(random, sizeof pieces / sizeof *pieces)];
  char part[64];
  switch (fuzz_below(random, 8)) {
  case 0:
    erase(at, 1 + fuzz_below(random, 12));
    break;
  case 1: /* a part twice */
    if (size > sizeof part) {
      memcpy(part, text + fuzz_below(random, (uint32_t)(size - sizeof part)), sizeof part);
      insert(at, part, 1 + fuzz_below(random, sizeof part));
    }
    break;
  case 2:
    if (at < size) text[at] = (char)fuzz_bits(random);
    break;
  case 3:
    if (at < size) text[at] ^= (char)(1 << fuzz_below(random, 8));
    break;
  case 4: /* a long line, now and then one beyond the limit of the file */
    if (fuzz_one_in(random, 20)) {
      static char long_line[ROOM];
      memset(long_line, 'x', sizeof long_line);
      insert(at, long_line, fuzz_below(random, fuzz_one_in(random, 4) ? ROOM : 400));
    }
    break;
  default:
    insert(at, piece, strlen(piece));
  }
}

static bool is_name(const char *name) {
  size_t length = strlen(name);
  for (size_t i = 0; i < length; i++) {
    const bool first = name[i] >= 'a' && name[i] <= 'z';
    if (!first && (i == 0 || !(isdigit((unsigned char)name[i]) || name[i] == '_'))) return false;
  }
  return length >= 1 && length < WIA__NAME_SIZE;
}

/* What a reader that is told of a problem needs: which line, or of which file as a whole. */
static bool is_problem(const char *problem) {
  return problem && strlen(problem) < WIA__TEXT_SIZE &&
         (strstr(problem, "line ") || strstr(problem, "the manifest "));
}

static bool check_manifest(const char *path) {
  wia__manifest_t manifest;
  const char *problem = NULL;
  const bool good = wia__read_manifest(path, &manifest, &problem);
  bool fine;
  if (!good)
    fine = CHECK(is_problem(problem)) && CHECK(!manifest.library) &&
           CHECK(manifest.name[0] == '\0' || is_name(manifest.name));
  else
    fine = CHECK(is_name(manifest.name)) && CHECK(manifest.library && manifest.library[0]) &&
           CHECK(size <= LIMIT) && CHECK(!memchr(text, '\0', size));
  free(manifest.library);
  if (!fine) printf("%s: %s\n", path, problem ? problem : "(no problem)");
  return fine;
}

static bool run_case(const fuzz_options_t *options, uint64_t seed) {
  static const char *folder;
  char path[PATH_MAX + 32];
  (void)options;
  fuzz_random_t random = fuzz_random(seed, 0);
  folder = make_folder();
  bool fine = true;
  for (uint32_t i = 0; i < FILES && fine; i++) {
    const char *original = originals[fuzz_below(&random, sizeof originals / sizeof *originals)];
    size = strlen(original);
    memcpy(text, original, size);
    for (uint32_t n = fuzz_below(&random, 6); n-- > 0;) mutate(&random);
    write_bytes(folder, "x.manifest", text, size);
    snprintf(path, sizeof path, "%s/x.manifest", folder);
    fine = check_manifest(path);
  }
  if (fine) remove_folder(folder); /* else the file is there to be looked at */
  return fine;
}

int main(int count, char **arguments) {
  const fuzz_options_t options =
      fuzz_options(count, arguments, (fuzz_options_t){.seed = 20261202, .cases = 6, .threads = 1});
  fuzz_run(&options, run_case);
  return CHECK_DONE();
}
