/**
 * A request that ends with its signal at any time: undici obeys a signal only once the connection is open, so that a
 * slow look-up or handshake would outlast it.
 */
import type { request as Request } from 'undici'

type Options = Omit<NonNullable<Parameters<typeof Request>[1]>, 'signal'>

/** @throws the signal's reason, or the errors of undici. */
export async function requestUntil(
  signal: AbortSignal,
  url: string,
  options: Options,
): ReturnType<typeof Request> {
  // It takes long to load, and most installations send nothing this way.
  const { request } = await import('undici')
  signal.throwIfAborted()
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  const answer = request(url, { ...options, signal })
  // Its later failure is not awaited: without this handler it would be an unhandled rejection.
  answer.catch(() => {})
  try {
    return await Promise.race([answer, ended])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
