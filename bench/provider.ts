/**
 * Fiskil and SnapTrade in a process of their own, so that their work is not counted: the emulators behind
 * recorders. The person with a history has 5,400 rows at each, on six pages; the argument names another
 * person.
 */
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { startRecorder } from './recorder.ts'
import { serveChild } from './serve.ts'

const sandbox = await startSandbox({ clock: systemClock })
const { access } = sandbox
if (access.fiskil === null || access.snaptrade === null) throw new Error('the sandbox is not whole')
const fiskil = await startRecorder(access.fiskil.baseUrl, /\/banking\/transactions$/)
const snaptrade = await startRecorder(access.snaptrade.baseUrl, /\/activities$/)
serveChild({
  access: {
    ...access,
    fiskil: { ...access.fiskil, baseUrl: fiskil.url },
    snaptrade: { ...access.snaptrade, baseUrl: snaptrade.url },
  },
  people: sandbox.person(process.argv[2] === 'healthy' ? 'healthy' : 'history'),
})
