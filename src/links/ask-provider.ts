/**
 * One bounded conversation with a provider on an operator's behalf: within it every failure is an UpstreamError, the
 * end of our patience included, so that callers have one thing to catch and one mapping to public errors.
 */
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { Adapter, Adapters, CallContext, Login } from '#providers/port.ts'
import type { LoginRow } from '#store/port.ts'

export interface Patience {
  /** Of the whole conversation, however many calls it has. */
  readonly timeoutMs: number
  readonly priority: CallContext['priority']
  /** Ends the conversation before its time: the process is stopping, or nobody waits any more. */
  readonly stop?: AbortSignal
}

/** The adapter of a provider. @throws ApiError `provider_not_configured`. */
export function getAdapter(adapters: Adapters, provider: Provider): Adapter {
  const adapter = adapters[provider]
  if (adapter === undefined) {
    throw apiError('provider_not_configured', {
      message: `The provider ${provider} is not configured on this server; set its credentials`,
    })
  }
  return adapter
}

/** Runs `work` within `patience`. @throws UpstreamError and nothing else of the provider's making. */
export async function askProvider<T>(
  provider: Provider,
  patience: Patience,
  work: (call: CallContext) => Promise<T>,
): Promise<T> {
  const { timeoutMs, priority, stop } = patience
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = stop === undefined ? timeout : AbortSignal.any([timeout, stop])
  try {
    return await work({ signal, priority })
  } catch (error) {
    if (error instanceof UpstreamError || !signal.aborted) throw error
    const detail = stop?.aborted ? toReason(stop) : `no answer within ${timeoutMs} ms`
    throw new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, error)
  }
}

function toReason({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : 'nobody waits any more'
}

/** The credentials as adapters want them. */
export function toLogin(row: LoginRow): Login {
  return { id: row.id, upstreamUserId: row.upstreamUserId, secret: row.secret }
}
