/**
 * Where a sandbox command acts: the providers at which a person lives, and the levers there. What cannot be done becomes
 * `invalid_params` with a sentence.
 */
import { apiError } from '#contract/errors.ts'
import type { Person } from './adopted.ts'
import { type NewRowBody, Provider, type RowChangeBody } from './control-bodies.ts'
import { LeverError, type Levers, type TouchedRow } from './levers.ts'
import { type SandboxProvider, sandboxProviders } from './magic-users.ts'
import type { Sandbox } from './start.ts'

/** At least one, in the order of the documentation. */
export type Providers = readonly [SandboxProvider, ...SandboxProvider[]]

/** Where the person lives, or the one place that was named. @throws ApiError `invalid_params`. */
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

/** Fiskil has consents, but no logins: said when it was asked for by name, passed over when everywhere was meant. */
export function canServe(
  sandbox: Sandbox,
  provider: SandboxProvider,
  path: string,
  wanted: SandboxProvider | undefined,
): boolean {
  if (path !== 'login/break' || sandbox[provider].levers.login !== null) return true
  if (wanted === undefined) return false
  const details = [
    `provider: at ${provider} there is no login to break, only a consent; use \`sandbox consent\``,
  ]
  throw apiError('invalid_params', { details })
}

const tradeFields = ['type', 'symbol', 'units', 'price'] as const

/** @throws ApiError `invalid_params` for fields of a trade at a bank. */
export function refuseTrade(body: NewRowBody, provider: SandboxProvider): void {
  if (provider === 'snaptrade') return
  const given = tradeFields.filter((field) => body[field] !== undefined)
  if (given.length === 0) return
  const details = given.map((field) => `${field}: is for trades alone, at --provider snaptrade`)
  throw apiError('invalid_params', { details })
}

/** @throws ApiError `invalid_params` when nothing would change. */
export function refuseIdleChange({ amount, description, date }: RowChangeBody): void {
  if ([amount, description, date].some((value) => value !== undefined)) return
  const details = ['body: amount, description or date must be given, or nothing would change']
  throw apiError('invalid_params', { details })
}

/** The person as logins of ours name them. */
export function toPerson(sandbox: Sandbox, provider: SandboxProvider, name: string): Person {
  return { provider, upstreamUserId: sandbox[provider].levers.upstreamUserId(name) }
}

/** Tries the places in turn; the last refusal counts. */
export function firstThat(
  places: readonly SandboxProvider[],
  act: (levers: Levers) => TouchedRow,
  sandbox: Sandbox,
): { readonly provider: SandboxProvider; readonly row: TouchedRow } {
  let refusal: LeverError | null = null
  for (const provider of places) {
    try {
      return { provider, row: act(sandbox[provider].levers) }
    } catch (error) {
      if (!(error instanceof LeverError)) throw error
      refusal = error
    }
  }
  throw toApiError(refusal ?? new LeverError('nobody is there'))
}

/** Pulls a lever; what cannot be done is `invalid_params`. */
export function pull<Result>(act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    throw error instanceof LeverError ? toApiError(error) : error
  }
}

const toApiError = (error: LeverError) => apiError('invalid_params', { details: [error.message] })
