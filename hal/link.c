/* link.c: what is between two devices. */
#include "device.h"
#include "object.h"

/* Asks the driver that both devices are of. */
static wia_status_t ask_driver(wia__device_t *device, const wia__device_t *peer,
                               wia_link_info_t *info) {
  wia_error_t error;
  wia__init_error(&error);
  wia__thread_t *self = wia__thread();
  wia__leave(self);
  wia__lock_device(device);
  const wia_status_t status = device->table->get_link(device->handle, peer->handle, info, &error);
  wia__unlock_device(device);
  wia__rejoin(self);
  if (status != WIA_STATUS_OK)
    return wia__take_error(&error, status, device->driver->name,
                           "asking device \"%s\" for its link to \"%s\"", device->name, peer->name);
  wia__drop_error(&error);
  if (info->kind == WIA_LINK_HOST || info->kind == WIA_LINK_DIRECT) return status;
  return wia__fail_with(WIA_STATUS_INTERNAL, device->driver->name, NULL,
                        "the driver describes the link from \"%s\" to \"%s\" as kind %d, which is "
                        "none of WIA_LINK_*: report this to its vendor",
                        device->name, peer->name, (int)info->kind);
}

/* Also of a NaN. */
static double known(double figure) { return figure >= 0 ? figure : -1; }

static wia_status_t get_link_info(int32_t device_id, int32_t peer_id, wia_link_info_t *out_info) {
  wia_status_t status = wia__check_out(out_info, sizeof(wia_link_info_t), "WIA_LINK_INFO_INIT");
  if (status != WIA_STATUS_OK) return status;
  wia__device_t *device, *peer;
  status = wia__get_device(device_id, &device);
  if (status == WIA_STATUS_OK) status = wia__get_device(peer_id, &peer);
  if (status != WIA_STATUS_OK) return status;
  if (device == peer)
    return wia__fail(WIA_STATUS_INVALID_ARGUMENT,
                     "device_id and peer_id are both %d (\"%s\"); expected two devices",
                     (int)device_id, device->name);
  wia_link_info_t info = {
      .struct_size = sizeof info, .kind = WIA_LINK_HOST, .bandwidth = -1, .latency_ns = -1};
  if (device->driver == peer->driver && device->table->get_link != NULL)
    status = ask_driver(device, peer, &info);
  if (status != WIA_STATUS_OK) return status;
  info.bandwidth = known(info.bandwidth);
  info.latency_ns = known(info.latency_ns);
  wia__write_struct(out_info, &info, sizeof info);
  return status;
}

WIA_API wia_status_t wia_get_link_info(int32_t device_id, int32_t peer_id,
                                       wia_link_info_t *out_info) {
  WIA__CALL(get_link_info(device_id, peer_id, out_info));
}
