/**
 * `tributary sandbox`: the emulators alone in the foreground, for another Tributary or anybody's client. Prints where
 * they are as environment lines that can be copied, and waits to be stopped.
 */
import { systemClock } from '#kernel/time.ts'
import { listPeople, type SandboxProvider } from '#sandbox/magic-users.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { Refusal } from './server.ts'

export interface SandboxStart {
  readonly ports: Readonly<Record<SandboxProvider, number>>
  /** Null: the sandbox's own. */
  readonly seed: string | null
  readonly json: boolean
}

export interface Foreground {
  readonly out: (text: string) => void
  /** Resolves when somebody wants the process to end. */
  readonly untilStopped: () => Promise<void>
}

/** Starts, prints, waits, closes. @throws Refusal when a port cannot be had. */
export async function runSandbox(start: SandboxStart, foreground: Foreground): Promise<void> {
  const { ports, seed, json } = start
  // Listened for from the beginning: whoever has read the lines may stop it at once.
  const stopped = foreground.untilStopped()
  const sandbox = await startSandbox({
    clock: systemClock,
    ports,
    ...(seed === null ? {} : { seed }),
  }).catch((error: unknown) => {
    throw explain(error)
  })
  const environment = toEnvironment(sandbox)
  const people = listPeople()
  foreground.out(
    json ? `${JSON.stringify({ environment, people })}\n` : describe(environment, people),
  )
  await stopped
  await sandbox.close()
}

/** What points a Tributary at these emulators. */
function toEnvironment({ access }: Sandbox): Readonly<Record<string, string>> {
  const { fiskil, akahu, snaptrade } = access
  return {
    ...(fiskil && {
      FISKIL_BASE_URL: fiskil.baseUrl,
      FISKIL_CLIENT_ID: fiskil.clientId,
      FISKIL_CLIENT_SECRET: fiskil.clientSecret,
    }),
    ...(akahu && {
      AKAHU_BASE_URL: akahu.baseUrl,
      AKAHU_APP_TOKEN: akahu.appToken,
      AKAHU_APP_SECRET: akahu.appSecret,
    }),
    ...(snaptrade && {
      SNAPTRADE_BASE_URL: snaptrade.baseUrl,
      SNAPTRADE_CLIENT_ID: snaptrade.clientId,
      SNAPTRADE_CONSUMER_KEY: snaptrade.consumerKey,
    }),
  }
}

/** Lines that a shell can read: whatever is no variable is a comment. */
function describe(
  environment: Readonly<Record<string, string>>,
  people: ReturnType<typeof listPeople>,
): string {
  const width = Math.max(...people.map(({ person }) => person.length))
  return [
    '# The sandbox runs until Ctrl-C. These lines point a Tributary (or any client) at it:',
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    '# Its people, for: tributary connections link U …',
    ...people.map(({ person, flags }) => `#   ${person.padEnd(width)}  ${flags}`),
    '',
  ].join('\n')
}

function explain(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const port = error instanceof Error && 'port' in error ? String(error.port) : ''
  if (code === 'EADDRINUSE') {
    const message = `port ${port} is taken by another process; choose others with --fiskil-port, --akahu-port, --snaptrade-port`
    return new Refusal({ error: { message } }, error)
  }
  if (code !== 'EACCES') return error
  return new Refusal({ error: { message: `port ${port} needs the right to it` } }, error)
}
