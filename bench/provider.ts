/**
 * The three emulators in a process of their own, so that their work is not counted. Fiskil's busy account has 5,400
 * rows on six pages. Arguments: seed, delay of every answer in milliseconds.
 */
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { serveChild } from './serve.ts'

const sandbox = await startSandbox({ clock: systemClock })
const latencyMs = Number(process.argv[2] ?? 0)
for (const emulator of [sandbox.fiskil, sandbox.akahu, sandbox.snaptrade])
  emulator.latencyMs = latencyMs
serveChild({ access: sandbox.access, people: sandbox.person('history') })
