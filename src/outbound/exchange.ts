/**
 * One request and the beginning of its answer, bounded in time and size, in one step of the dispatcher:
 * without streams and signals of its own, which cost an event as much as its signature and its decryption.
 */
import type { Dispatcher } from 'undici'
import { GatheredBytes } from '#kernel/gathered-bytes.ts'

export interface HttpExchange {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** From the look-up of the name to the last byte that is read of the answer. */
  readonly timeoutMs: number
  /** The part of the answer's body that is read; the connection of a longer one is closed. */
  readonly maxBytes: number
  /** Aborting it ends the exchange at any time, also before the connection is open. */
  readonly stop: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

/** No status came in time. */
export class NoAnswerInTime extends Error {
  override readonly name = 'NoAnswerInTime'
}

/**
 * Posts and reads. Once the status is there the exchange has an answer, with as much of its body as came
 * before the end, the time limit, `stop` or a failure.
 * @throws NoAnswerInTime, the reason of `stop`, or the errors of undici, before there is a status.
 */
export function exchange(dispatcher: Dispatcher, asked: HttpExchange): Promise<HttpAnswer> {
  const { url, headers, body, timeoutMs, maxBytes, stop } = asked
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
  const read = new GatheredBytes(maxBytes)
  let size = 0
  let head: Omit<HttpAnswer, 'body'> | null = null
  let controller: Dispatcher.DispatchController | null = null
  /** Why the exchange was ended from here; the dispatcher learns it when the request begins. */
  let ending: Error | null = null

  /** `error`: null after a whole answer. No error is made for nothing: its stack costs a signature. */
  function settle(error: Error | null): void {
    clearTimeout(timer)
    stop.removeEventListener('abort', onStop)
    if (head === null) reject(error ?? new Error('the answer ended before its status'))
    else resolve({ ...head, body: read.take() })
  }
  function end(error: Error): void {
    ending ??= error
    settle(error)
    controller?.abort(error)
  }
  const onStop = () => end(toError(stop.reason))
  const timer = setTimeout(() => end(new NoAnswerInTime('no answer came in time')), timeoutMs)
  stop.addEventListener('abort', onStop, { once: true })
  if (stop.aborted) {
    onStop()
    return promise
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started
      if (ending !== null) started.abort(ending)
    },
    onResponseStart(_controller, status, answered) {
      // An interim answer (RFC 9110 §15.2) says nothing yet.
      if (status >= 200) head = { status, headers: answered }
    },
    onResponseData(_controller, chunk) {
      read.add(chunk.subarray(0, Math.max(0, maxBytes - size)))
      size += chunk.byteLength
      if (size >= maxBytes) end(new Error('as much was read as is wanted'))
    },
    onResponseEnd: () => settle(null),
    onResponseError: (_controller, error) => settle(error),
  }
  const path = `${url.pathname}${url.search}`
  dispatcher.dispatch({ origin: url.origin, path, method: 'POST', headers, body }, handler)
  return promise
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('the exchange was ended', { cause: reason })
}
