/**
 * `tributary sandbox`: runs the emulators alone in the foreground, for another Tributary or any other client.
 * Prints their addresses as environment lines to copy, and runs until it is stopped.
 */
import { errorCode } from '#kernel/error-code.ts'
import { systemClock } from '#kernel/time.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import { emulators } from '#sandbox/emulators.ts'
import { listOwnKeys, listPeople, type SandboxProvider } from '#sandbox/magic-users.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { portFlag } from './sandbox-commands.ts'
import { Refusal } from './server.ts'

export interface SandboxStart {
  readonly ports: Readonly<Partial<Record<SandboxProvider, number>>>
  /** Null: the sandbox's own default. */
  readonly seed: string | null
  /** The base address of the service that gets webhooks; null: none are sent. */
  readonly webhooksTo: string | null
  readonly json: boolean
}

export interface Foreground {
  readonly out: (text: string) => void
  /** Resolves when the process is asked to end. */
  readonly untilStopped: () => Promise<void>
}

/** Starts, prints, waits, closes. @throws Refusal when a port is not available. */
export async function runSandbox(start: SandboxStart, foreground: Foreground): Promise<void> {
  const { ports, seed, json } = start
  // Registered first: a stop may follow as soon as the lines are printed.
  const stopped = foreground.untilStopped()
  const sandbox = await startSandbox({
    clock: systemClock,
    ports,
    ...(seed === null ? {} : { seed }),
  }).catch((error: unknown) => {
    throw explain(error)
  })
  sandbox.sendWebhooksTo(start.webhooksTo)
  const environment = toEnvironment(sandbox)
  const printed = {
    environment,
    people: listPeople(sandbox.access),
    ownKeys: listOwnKeys(),
    personalKeys: listPersonalKeys(),
  }
  foreground.out(json ? `${JSON.stringify(printed)}\n` : describe(printed))
  await stopped
  await sandbox.close()
}

/** The variables that make a Tributary use these emulators. */
function toEnvironment({ access }: Sandbox): Readonly<Record<string, string>> {
  const lines = providerNames.flatMap((provider) => {
    const own = new Map(Object.entries(access[provider] ?? {}))
    const { baseUrl, required, optional, preset } = factsOf(provider).settings
    const names = Object.entries({ baseUrl, ...required, ...optional, ...preset })
    return names.map(([field, name]) => [name, toLine(own.get(field))])
  })
  return Object.fromEntries(lines.filter(([, value]) => value !== null))
}

/** As a line of `.env` has it: a key in PEM in base64; null: not set. */
function toLine(value: unknown): string | null {
  if (value === undefined || value === null) return null
  const text = String(value)
  return text.startsWith('-----BEGIN') ? Buffer.from(text).toString('base64') : text
}

type Variables = Readonly<Record<string, string>>

/** The variables of an installation with one person's own key in place of the lines above, by provider. */
function listPersonalKeys(): Readonly<Record<string, Variables>> {
  const keys = providerNames.flatMap((provider) => {
    const { personal } = emulators[provider]
    if (personal === undefined) return []
    const { required, optional, preset } = factsOf(provider).settings
    const names = new Map(Object.entries({ ...required, ...optional, ...preset }))
    const lines = Object.entries(personal).map(([field, value]) => [names.get(field), value])
    return [[provider, Object.fromEntries(lines)] as const]
  })
  return Object.fromEntries(keys)
}

interface Printed {
  readonly environment: Variables
  readonly people: ReturnType<typeof listPeople>
  readonly ownKeys: ReturnType<typeof listOwnKeys>
  readonly personalKeys: ReturnType<typeof listPersonalKeys>
}

/** Output that a shell can read: everything that is not a variable is a comment. */
function describe({ environment, people, ownKeys, personalKeys }: Printed): string {
  const width = Math.max(...people.map(({ person }) => person.length))
  return [
    '# The sandbox runs until Ctrl-C. These lines point a Tributary (or any client) at it:',
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    ...Object.entries(personalKeys).flatMap(([provider, variables]) => [
      `# With one person's own key at ${provider}, these take the place of the lines above:`,
      ...Object.entries(variables).map(([name, value]) => `#   ${name}=${value}`),
    ]),
    '# Its people, for: tributary connections link U …',
    ...people.map(({ person, flags }) => `#   ${person.padEnd(width)}  ${flags}`),
    '# The same people with keys of their own:',
    ...ownKeys.map(({ person, flags }) => `#   ${person.padEnd(width)}  ${flags}`),
    '',
  ].join('\n')
}

function explain(error: unknown): unknown {
  const code = errorCode(error)
  const port = error instanceof Error && 'port' in error ? String(error.port) : ''
  if (code === 'EADDRINUSE') {
    const message = `port ${port} is taken by another process; choose others with ${providerNames.map((name) => `--${portFlag(name)}`).join(', ')}`
    return new Refusal({ error: { message } }, { cause: error })
  }
  if (code !== 'EACCES') return error
  return new Refusal(
    { error: { message: `port ${port} needs a permission to use it` } },
    { cause: error },
  )
}
