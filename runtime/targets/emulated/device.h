/* A device with two slots for plans and a serial line for updates: the other program of the emulated targets. */
#ifndef FIRN_EMULATED_DEVICE_H
#define FIRN_EMULATED_DEVICE_H

/* Boots, makes a step, and receives updates until the power is cut. `words` is the command line behind "device":
 * "confirm" to confirm the plan. Returns the exit status if there is nothing to run or to receive. */
int firn_device(const char *words);

#endif
