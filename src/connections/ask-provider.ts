/**
 * Runs calls to a provider within the time of one action, however many there are. Every failure is an
 * UpstreamError, including the timeout, so that callers catch one type and map it to public errors in one
 * place.
 */
import type { PersonPresent } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import { ownCredentialsOf } from '#providers/all-facts.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { Adapter, Adapters, CallContext, ConnectionRef, Login } from '#providers/port.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { ConnectionsOptions } from './options.ts'

export interface AskOptions {
  /** Ends the time of one action: all its calls share it. */
  readonly until: AbortSignal
  readonly priority: CallContext['priority']
  /** Aborts the calls early: the process is stopping, or the caller left. */
  readonly stop?: AbortSignal
  /** Absent: no person is known to be present. */
  readonly person?: PersonPresent
}

/** Who asks: what does not change with the time of an action. */
export interface Asker extends Pick<AskOptions, 'priority'> {
  readonly stop?: AbortSignal | undefined
  readonly person?: PersonPresent | undefined
}

/**
 * The options of one action. Its time begins now: make them once, before its turn (`turns.ts`) where somebody
 * waits for the answer, else when that has come.
 */
export function limitTime(
  { timeoutMs }: Pick<ConnectionsOptions, 'timeoutMs'>,
  { priority, stop, person }: Asker,
): AskOptions {
  const until = AbortSignal.timeout(timeoutMs)
  const stopping = stop === undefined ? {} : { stop }
  return { until, priority, ...stopping, ...(person === undefined ? {} : { person }) }
}

/** The adapter of a provider. @throws ApiError `provider_not_configured`. */
export function getAdapter(adapters: Adapters, provider: Provider): Adapter {
  const adapter = adapters[provider]
  if (adapter === undefined) {
    throw apiError('provider_not_configured', {
      message: `The provider ${provider} is not configured on this server; set ${ownCredentialsOf(provider)}`,
    })
  }
  return adapter
}

/** Runs `work` within the time of its action. @throws UpstreamError for every failure of the provider. */
export async function askProvider<T>(
  provider: Provider,
  askOptions: AskOptions,
  work: (call: CallContext) => Promise<T>,
): Promise<T> {
  const { until, priority, stop, person } = askOptions
  const signal = stop === undefined ? until : AbortSignal.any([until, stop])
  try {
    return await work({ signal, priority, ...(person === undefined ? {} : { person }) })
  } catch (error) {
    if (error instanceof UpstreamError || !signal.aborted) throw error
    const detail = stop?.aborted ? toReason(stop) : 'no answer within the time of one request'
    throw new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, error)
  }
}

function toReason({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : 'the caller left'
}

/** The credentials in the form that adapters expect. */
export function toLogin(row: LoginRow): Login {
  return {
    id: row.id,
    userId: row.userId,
    upstreamUserId: row.upstreamUserId,
    secret: row.secret,
    version: row.version,
    isOurs: row.isOurs,
  }
}

/** As adapters expect it; they have no status `deleting`: such a consent is being withdrawn. */
export function toConnectionRef({ id, upstreamId, status }: ConnectionRow): ConnectionRef {
  return { id, upstreamId, status: status === 'deleting' ? 'revoked' : status }
}
