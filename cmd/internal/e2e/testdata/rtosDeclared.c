/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "FreeRTOSConfig.h"
#define pdFALSE 0L
#define portMAX_DELAY UINT32_MAX
typedef uint32_t StackType_t, TickType_t;
typedef struct { int unused; } StaticTask_t, StaticSemaphore_t;
typedef struct task *TaskHandle_t;
typedef struct semaphore *SemaphoreHandle_t;
TaskHandle_t xTaskCreateStatic(void (*)(void *), const char *, uint32_t, void *, unsigned long, StackType_t *,
    StaticTask_t *);
void vTaskStartScheduler(void);
void vTaskDelay(TickType_t);
long xTaskDelayUntil(TickType_t *, TickType_t);
TickType_t xTaskGetTickCount(void);
unsigned long uxTaskGetStackHighWaterMark(TaskHandle_t);
SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *);
long xSemaphoreTake(SemaphoreHandle_t, TickType_t);
long xSemaphoreGive(SemaphoreHandle_t);
void vApplicationGetIdleTaskMemory(StaticTask_t **, StackType_t **, configSTACK_DEPTH_TYPE *);
void vApplicationStackOverflowHook(TaskHandle_t, char *);
