/** The emulators in their own process, as providers are remote in production. */
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { serveChild } from './serve.ts'

const sandbox = await startSandbox({ clock: systemClock })
serveChild({ access: sandbox.access, people: sandbox.person('healthy') })
