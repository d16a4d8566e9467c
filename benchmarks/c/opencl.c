/* opencl DEVICE: WIA beside OpenCL on a processor (PoCL), each in the way that its programs are
 * written. Both add 8 float32. */
#include <CL/cl.h>
#include <stdio.h>

#include "crew.h"
#include "work.h"

enum { BURST = 200, CALLS = 200, ALLOCATION = 1 << 20 };

typedef struct open_cl_t {
  cl_context context;
  cl_device_id device;
  cl_program program;
} open_cl_t;

typedef struct subject_t {
  crew_t crew;
  work_t works[MAX_THREADS];
  wia_stream_t *streams[MAX_THREADS];
  wia_event_t *event;
  open_cl_t cl;
  cl_kernel kernels[MAX_THREADS];
  cl_command_queue queues[MAX_THREADS];
} subject_t;

static void check_cl(cl_int status) { require_true(status == CL_SUCCESS, "the OpenCL call"); }

static void enqueue_cl(const subject_t *subject, uint32_t thread, cl_event *event) {
  const size_t size = 8;
  check_cl(clEnqueueNDRangeKernel(subject->queues[thread], subject->kernels[thread], 1, NULL, &size,
                                  &size, 0, NULL, event));
}

static void enqueue_wia(const subject_t *subject, uint32_t thread) {
  check(run_work(&subject->works[thread], subject->streams[thread]));
}

static void wait_for(wia_stream_t *stream) {
  check(wia_synchronize_stream(stream, WIA_TIMEOUT_INFINITE));
}

/* -- turns --------------------------------------------------------------------------------------- */

static double turn_burst_wia(void *context) {
  const int64_t start = now_ns();
  for (uint32_t i = 0; i < BURST; i++) enqueue_wia(context, 0);
  const double time = (double)(now_ns() - start) / BURST;
  wait_for(((subject_t *)context)->streams[0]);
  return time;
}

static double turn_burst_cl(void *context) {
  const int64_t start = now_ns();
  for (uint32_t i = 0; i < BURST; i++) enqueue_cl(context, 0, NULL);
  const double time = (double)(now_ns() - start) / BURST;
  check_cl(clFinish(((subject_t *)context)->queues[0]));
  return time;
}

static void repeat_done_wia(void *context, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    enqueue_wia(context, 0);
    wait_for(((subject_t *)context)->streams[0]);
  }
}

static void repeat_done_cl(void *context, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    enqueue_cl(context, 0, NULL);
    check_cl(clFinish(((subject_t *)context)->queues[0]));
  }
}

static void repeat_event_wia(void *context, uint32_t count) {
  const subject_t *subject = context;
  for (uint32_t i = 0; i < count; i++) {
    enqueue_wia(subject, 0);
    check(wia_record_event(subject->event, subject->streams[0]));
    check(wia_wait_event(subject->event, WIA_TIMEOUT_INFINITE));
  }
}

static void repeat_event_cl(void *context, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    cl_event event;
    enqueue_cl(context, 0, &event);
    check_cl(clWaitForEvents(1, &event));
    check_cl(clReleaseEvent(event));
  }
}

static void repeat_allocate_wia(void *context, uint32_t count) {
  const subject_t *subject = context;
  for (uint32_t i = 0; i < count; i++) {
    void *address;
    check(wia_malloc(&address, ALLOCATION, subject->works[0].device));
    check(wia_free(address));
  }
}

static void repeat_allocate_async(void *context, uint32_t count) {
  const subject_t *subject = context;
  for (uint32_t i = 0; i < count; i++) {
    void *address;
    check(wia_malloc_async(subject->works[0].context, ALLOCATION, NULL, subject->streams[0],
                           &address));
    check(wia_free_async(address, subject->streams[0]));
  }
}

static void repeat_allocate_cl(void *context, uint32_t count) {
  const subject_t *subject = context;
  for (uint32_t i = 0; i < count; i++) {
    cl_int status;
    cl_mem buffer =
        clCreateBuffer(subject->cl.context, CL_MEM_READ_WRITE, ALLOCATION, NULL, &status);
    check_cl(status);
    check_cl(clReleaseMemObject(buffer));
  }
}

static void run_wia(void *context, uint32_t thread) {
  const subject_t *subject = context;
  for (uint32_t i = 0; i < CALLS; i++) enqueue_wia(subject, thread);
  wait_for(subject->streams[thread]);
}

static void run_cl(void *context, uint32_t thread) {
  const subject_t *subject = context;
  for (uint32_t i = 0; i < CALLS; i++) enqueue_cl(subject, thread, NULL);
  check_cl(clFinish(subject->queues[thread]));
}

static double turn_threads_wia(void *context) {
  subject_t *subject = context;
  return run_crew(&subject->crew, run_wia, subject) / (CALLS * subject->crew.count);
}

static double turn_threads_cl(void *context) {
  subject_t *subject = context;
  return run_crew(&subject->crew, run_cl, subject) / (CALLS * subject->crew.count);
}

/* -- set-up -------------------------------------------------------------------------------------- */

static void open_cl(open_cl_t *cl) {
  static const char *const source =
      "kernel void add(global const float *a, global const float *b, global float *c) {"
      "  size_t i = get_global_id(0); c[i] = a[i] + b[i]; }";
  cl_platform_id platform;
  cl_int status;
  check_cl(clGetPlatformIDs(1, &platform, NULL));
  check_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &cl->device, NULL));
  cl->context = clCreateContext(NULL, 1, &cl->device, NULL, NULL, &status);
  check_cl(status);
  cl->program = clCreateProgramWithSource(cl->context, 1, (const char **)&source, NULL, &status);
  check_cl(status);
  check_cl(clBuildProgram(cl->program, 1, &cl->device, NULL, NULL, NULL));
}

static void make_queue(subject_t *subject, uint32_t thread) {
  float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const open_cl_t *cl = &subject->cl;
  cl_int status;
  subject->queues[thread] =
      clCreateCommandQueueWithProperties(cl->context, cl->device, NULL, &status);
  check_cl(status);
  subject->kernels[thread] = clCreateKernel(cl->program, "add", &status);
  check_cl(status);
  for (cl_uint i = 0; i < 3; i++) {
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    const cl_mem buffer = clCreateBuffer(cl->context, flags, sizeof values, values, &status);
    check_cl(status);
    check_cl(clSetKernelArg(subject->kernels[thread], i, sizeof buffer, &buffer));
  }
}

static void prepare(subject_t *subject, const char *device) {
  open_cl(&subject->cl);
  for (uint32_t i = 0; i < MAX_THREADS; i++) {
    make_work(&subject->works[i], device, WORK_ADD);
    REQUIRE(wia_create_stream(&subject->streams[i], subject->works[i].context));
    make_queue(subject, i);
  }
  REQUIRE(wia_create_event(&subject->event, subject->works[0].context));
}

static void compare(const char *group, subject_t *subject, void (*repeat_wia)(void *, uint32_t),
                    void (*repeat_cl)(void *, uint32_t), double (*turn_wia)(void *),
                    double (*turn_cl)(void *)) {
  const variant_t variants[] = {{"wia", subject, repeat_wia, turn_wia},
                                {"OpenCL", subject, repeat_cl, turn_cl}};
  measure(group, kernel_name(&subject->works[0]), variants, 2);
}

int main(int argc, char **argv) {
  static subject_t subject;
  require_true(argc == 2, "usage: opencl DEVICE");
  prepare(&subject, argv[1]);
  compare("burst", &subject, NULL, NULL, turn_burst_wia, turn_burst_cl);
  compare("done", &subject, repeat_done_wia, repeat_done_cl, NULL, NULL);
  compare("event", &subject, repeat_event_wia, repeat_event_cl, NULL, NULL);
  compare("allocate", &subject, repeat_allocate_wia, repeat_allocate_cl, NULL, NULL);
  compare("allocate async", &subject, repeat_allocate_async, repeat_allocate_cl, NULL, NULL);
  for (uint32_t count = 1; count <= MAX_THREADS; count *= 2) {
    char group[32];
    snprintf(group, sizeof group, "threads %u", (unsigned)count);
    gather_crew(&subject.crew, count);
    compare(group, &subject, NULL, NULL, turn_threads_wia, turn_threads_cl);
    dismiss_crew(&subject.crew);
  }
  return 0;
}
