/** The emulators in a process of their own: in production the providers are elsewhere too. */
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { serveChild } from './serve.ts'

const sandbox = await startSandbox({ clock: systemClock })
serveChild({ access: sandbox.access, people: sandbox.person('healthy') })
