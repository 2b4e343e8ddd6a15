/**
 * A request that ends with its signal, at any moment: undici heeds a signal only when the connection stands, so that a
 * slow look-up or handshake would outlast it.
 */
import { request } from 'undici'

type Options = Omit<NonNullable<Parameters<typeof request>[1]>, 'signal'>

/** @throws the signal's reason, or the errors of undici. */
export async function requestUntil(
  signal: AbortSignal,
  url: string,
  options: Options,
): ReturnType<typeof request> {
  signal.throwIfAborted()
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  const answer = request(url, { ...options, signal })
  // It fails later, and then nobody waits for it.
  answer.catch(() => {})
  try {
    return await Promise.race([answer, ended])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
