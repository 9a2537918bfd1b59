/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_H
#define APP_H

/* Periods in ticks of the kernel. */
#ifndef CONTROL_PERIOD
#define CONTROL_PERIOD 2u
#endif
#ifndef LISTEN_PERIOD
#define LISTEN_PERIOD 150u
#endif

/* How long the application runs, in ticks, before it says how it went. */
#ifndef APP_TICKS
#define APP_TICKS 2000u
#endif

/* White in the input of the model look, of float32; 0 is black. */
#ifndef LOOK_LIGHT
#define LOOK_LIGHT 1
#endif

/* What meets a deadline has the highest priority; an inference takes what is left. */
#ifndef CONTROL_PRIORITY
#define CONTROL_PRIORITY 4u
#endif
#define LISTEN_PRIORITY 3u
#define LOOK_PRIORITY 2u
#define REPORT_PRIORITY 5u

/* The most that an inference takes of the stack: "stack ... (at most N)" in the last lines of `nncc verify`,
 * .code.stack_bound_bytes of report.json after `nncc verify --out`. */
#ifndef LISTEN_STACK_BYTES
#define LISTEN_STACK_BYTES 1024u
#endif
#ifndef LOOK_STACK_BYTES
#define LOOK_STACK_BYTES 1024u
#endif

/* Beside it a task's stack holds its own functions with what they call of the kernel, and, while another task has the
 * core, its registers: up to 212 bytes with those of FPU or Helium. */
#define TASK_STACK_BYTES 512u

/* Of the board: text to the console, the end of the program. */
void board_print(const char *text);
void board_exit(int ok);

#endif
