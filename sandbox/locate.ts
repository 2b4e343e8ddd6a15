/**
 * Where a sandbox command acts: the providers that have the person, and their fault controls. An impossible
 * command becomes `invalid_params` with a message.
 */
import { apiError } from '#contract/errors.ts'
import { factsOf } from '#providers/all-facts.ts'
import { type NewRowBody, Provider, type RowChangeBody } from './control-bodies.ts'
import { FaultControlError, type FaultControls, type TouchedRow } from './fault-controls.ts'
import type { Person } from './linked-connections.ts'
import { type SandboxProvider, sandboxProviders } from './magic-users.ts'
import type { Sandbox } from './start.ts'

/** At least one, in the order of the documentation. */
export type Providers = readonly [SandboxProvider, ...SandboxProvider[]]

/** The providers that have the person, or the one that was named. @throws ApiError `invalid_params`. */
export function findProviders(
  sandbox: Sandbox,
  person: string,
  wanted: SandboxProvider | undefined,
): Providers {
  const [first, ...more] = sandboxProviders.filter((provider) =>
    Object.hasOwn(sandbox[provider].people, person),
  )
  if (first === undefined) {
    const details = ['person: is not known; `tributary sandbox people` lists everybody']
    throw apiError('invalid_params', { details })
  }
  if (wanted === undefined) return [first, ...more]
  if ([first, ...more].includes(wanted)) return [wanted]
  const details = [
    `provider: ${person} does not live there, only at ${[first, ...more].join(', ')}`,
  ]
  throw apiError('invalid_params', { details })
}

/** The provider in a path. @throws ApiError `invalid_params`. */
export function readProvider(text: string): SandboxProvider {
  const read = Provider.safeParse(text)
  if (read.success) return read.data
  const details = read.error.issues.map((issue) => `provider: ${issue.message}`)
  throw apiError('invalid_params', { details })
}

/**
 * Some have no logins to break, or no apps of people: an error when such a one was named, skipped otherwise.
 */
export function canServe(
  sandbox: Sandbox,
  provider: SandboxProvider,
  path: string,
  wanted: SandboxProvider | undefined,
): boolean {
  const { login, ownApp } = sandbox[provider].faultControls
  const isAboutApp = /^(?:permission|address)\//.test(path)
  if (isAboutApp ? ownApp !== undefined : path !== 'login/break' || login !== null) return true
  if (wanted === undefined) return false
  const details = [
    isAboutApp
      ? `provider: at ${provider} people have no apps of their own`
      : `provider: at ${provider} there is no login to break, only a consent; use \`sandbox consent\``,
  ]
  throw apiError('invalid_params', { details })
}

const tradeFields = ['type', 'symbol', 'units', 'price'] as const

/** @throws ApiError `invalid_params` for fields of a trade at a bank. */
export function refuseTrade(body: NewRowBody, provider: SandboxProvider): void {
  if (factsOf(provider).category === 'brokerage') return
  const given = tradeFields.filter((field) => body[field] !== undefined)
  if (given.length === 0) return
  const brokers = sandboxProviders.filter((name) => factsOf(name).category === 'brokerage')
  const where = brokers.join(' or ')
  const details = given.map((field) => `${field}: is for trades alone, at --provider ${where}`)
  throw apiError('invalid_params', { details })
}

/** @throws ApiError `invalid_params` when nothing would change. */
export function refuseEmptyChange({ amount, description, date }: RowChangeBody): void {
  if ([amount, description, date].some((value) => value !== undefined)) return
  const details = ['body: amount, description or date must be given, or nothing would change']
  throw apiError('invalid_params', { details })
}

/** The person as logins of ours name them. */
export function toPerson(sandbox: Sandbox, provider: SandboxProvider, name: string): Person {
  return { provider, upstreamUserId: sandbox[provider].faultControls.upstreamUserId(name) }
}

/** Tries the places in turn; reports the last refusal. */
export function runAtFirst(
  places: readonly SandboxProvider[],
  act: (faultControls: FaultControls) => TouchedRow,
  sandbox: Sandbox,
): { readonly provider: SandboxProvider; readonly row: TouchedRow } {
  let refusal: FaultControlError | null = null
  for (const provider of places) {
    try {
      return { provider, row: act(sandbox[provider].faultControls) }
    } catch (error) {
      if (!(error instanceof FaultControlError)) throw error
      refusal = error
    }
  }
  throw toApiError(refusal ?? new FaultControlError('nobody is there'))
}

/** Runs a fault control; an impossible command is `invalid_params`. */
export function runFaultControl<Result>(act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    throw error instanceof FaultControlError ? toApiError(error) : error
  }
}

const toApiError = (error: FaultControlError) =>
  apiError('invalid_params', { details: [error.message] })
