/**
 * A request that ends with its signal at any time: undici obeys a signal only once the connection is open, so
 * that a slow look-up or handshake would outlast it.
 */
import type { Dispatcher } from 'undici'

/** @throws the signal's reason, or the errors of undici. */
export async function requestUntil(
  signal: AbortSignal,
  dispatcher: Dispatcher,
  options: Omit<Dispatcher.RequestOptions, 'signal'>,
): Promise<Dispatcher.ResponseData> {
  signal.throwIfAborted()
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  const answer = dispatcher.request({ ...options, signal })
  // Its later failure is not awaited: without this handler it would be an unhandled rejection.
  answer.catch(() => {})
  try {
    return await Promise.race([answer, ended])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
