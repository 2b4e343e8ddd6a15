/** The lease of a claimed endpoint while this process sends to it. */
import { minuteMs } from '#kernel/time.ts'

export const endpointLeaseMs = minuteMs
export const renewEveryMs = 15_000
