/**
 * `tributary webhooks listen --key K`: follows the events of a person by their key, from this moment on, as a
 * stream. Nothing has to be reachable from outside, and no endpoint is made (reading R42).
 */
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { readRetryAfter } from '#kernel/retry-after.ts'
import { minuteMs, systemClock } from '#kernel/time.ts'
import { webhooksListen } from './commands.ts'
import { toLocal } from './export.ts'
import { UsageError } from './invocation.ts'
import { describeFetched, type ListenTerminal, toFetchedLine } from './listen.ts'
import type { ListenByKeyStart } from './listen-start.ts'
import { toPrintable } from './printable.ts'
import { readSecrets, type SecretInput } from './read-secrets.ts'
import { parseJsonAnswer, Refusal, readAnswerText, readErrorBody, withoutToken } from './server.ts'
import { usageLine } from './usage.ts'

export interface KeyTerminal extends ListenTerminal {
  readonly input: SecretInput
  readonly err: (text: string) => void
}

/** All terminals of a person are one consumer. */
const consumer = 'terminal'
/** Requests in which what came since the last time is passed over. */
const maxPassed = 20
/** Waits between two requests while the server is away, and where it names none. */
const [firstWaitMs, longestWaitMs] = [1000, 30_000]
/** A server answers within a minute, or says that it cannot. */
const usualAnswerMs: number = minuteMs
/** More characters than the largest event has. */
const maxBlock = 16_000_000

/** The server is away or asks to wait: the same request may succeed later. */
class Unavailable extends Refusal {
  override readonly name = 'Refusal'
  /** What the server asked for; null: nothing. */
  readonly waitMs: number | null
  constructor(refusal: Refusal, waitMs: number | null) {
    super(refusal.envelope, { cause: refusal })
    this.waitMs = waitMs
  }
}

/**
 * Resolves when it was stopped. Once it listens, it outlives restarts of the server.
 * @throws Refusal, UsageError
 */
export async function listenByKey(
  start: ListenByKeyStart,
  terminal: KeyTerminal,
  answerMs = usualAnswerMs,
): Promise<0> {
  const stopping = new AbortController()
  const { signal } = stopping
  const stop = () => stopping.abort()
  void Promise.race([terminal.untilStopped(), terminal.untilUnread()]).then(stop)
  const server = { ...(await findServer(start, terminal)), answerMs }
  try {
    let after = await passOver(server, signal)
    terminal.out(greet(start, server.origin))
    for (let failures = 0; ; ) {
      try {
        after = await follow(server, after, { start, terminal, signal })
        failures = 0
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        if (failures === 0) terminal.err(`${toPrintable(error.message)}; trying again\n`)
        await sleep(error.waitMs ?? Math.min(firstWaitMs * 2 ** failures, longestWaitMs), signal)
        failures += 1
        continue
      }
      await sleep(firstWaitMs, signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return 0
}

/** Rejects when it is stopped. */
const sleep = (ms: number, signal: AbortSignal) => wait(ms, undefined, { signal })

const refuse = (message: string) => new Refusal({ error: { message } })

interface KeyServer {
  readonly origin: string
  readonly key: string
  /** It is taken for away when it has not answered by then. */
  readonly answerMs: number
}

async function findServer(
  start: ListenByKeyStart,
  terminal: KeyTerminal,
): Promise<Pick<KeyServer, 'origin' | 'key'>> {
  const { environment, input, err } = terminal
  const [given] = start.key === '-' ? await readSecrets(input, ['--key'], err) : [start.key]
  const key = given ?? environment.TRIBUTARY_API_KEY ?? ''
  if (key === '') {
    const problem = 'give --user, or an API key: --key or TRIBUTARY_API_KEY'
    throw new UsageError(problem, usageLine(webhooksListen))
  }
  // Neither could be sent: that would look like a server that does not answer.
  if (!/^[\x21-\x7e]+$/.test(key)) throw refuse('The key has characters that no key has')
  const origin = start.baseUrl ?? environment.TRIBUTARY_BASE_URL ?? toLocal(environment)
  const url = URL.parse(origin)
  const isSent =
    url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === ''
  if (!isSent) throw refuse('--base-url must be an http or https URL without user and password')
  return { origin, key }
}

interface Question<Answer> {
  readonly signal: AbortSignal
  readonly headers?: object
  /** What is taken of an answer in the time that the server has for it. */
  readonly read: (response: Response) => Promise<Answer>
}

/** @throws Refusal with what the server says, or that there is none. */
async function ask<Answer>(
  { origin, key, answerMs }: KeyServer,
  query: string,
  { signal, headers = {}, read }: Question<Answer>,
): Promise<Answer> {
  const url = `${origin}/v1/events?consumer=${consumer}${query}`
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), answerMs)
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${key}`, ...headers },
      signal: AbortSignal.any([signal, late.signal]),
      redirect: 'manual',
    })
    if (response.ok) return await read(response)
    throw toRefusal({ origin, key }, response, await readAnswerText(response))
  } catch (cause) {
    if (cause instanceof Refusal) throw cause
    const words = late.signal.aborted
      ? `did not answer within ${answerMs / 1000} seconds`
      : 'does not answer'
    const error = { message: `${origin} ${words}` }
    throw new Unavailable(new Refusal({ error }, { cause }), null)
  } finally {
    clearTimeout(timer)
  }
}

/** Something else than the API may have answered, and may repeat what it was sent. */
function toRefusal(
  { origin, key }: Pick<KeyServer, 'origin' | 'key'>,
  { status, headers }: Response,
  text: string,
): Refusal {
  const error = { message: `${origin} answered ${status}` }
  const refusal = new Refusal(readErrorBody(withoutToken(text, key)) ?? { error }, { status })
  if (status !== 429 && status < 500) return refusal
  const seconds = readRetryAfter(Object.fromEntries(headers), systemClock.now())
  return new Unavailable(refusal, seconds === null ? null : seconds * 1000)
}

const Passed = z.object({ data: z.array(z.unknown()), next: z.string().max(200) })

/** Acknowledges what came since the last time; returns the cursor behind it. */
async function passOver(server: KeyServer, signal: AbortSignal): Promise<string> {
  let after = ''
  for (let count = 0; count < maxPassed; count += 1) {
    const query = after === '' ? '' : `&after=${after}`
    const text = await ask(server, query, { signal, read: readAnswerText })
    const page = Passed.safeParse(parseJsonAnswer(text))
    if (!page.success)
      throw new Refusal({ error: { message: `${server.origin} is no Tributary, or an older one` } })
    after = page.data.next
    if (page.data.data.length === 0) break
  }
  return after
}

interface FollowOptions {
  readonly start: ListenByKeyStart
  readonly terminal: KeyTerminal
  readonly signal: AbortSignal
}

/** One stream to its end; returns the cursor behind its last event. */
async function follow(
  server: KeyServer,
  after: string,
  { start, terminal, signal }: FollowOptions,
): Promise<string> {
  const headers = { accept: 'text/event-stream', 'last-event-id': after }
  // A stream has no end: only its beginning must come in time.
  const read = async (response: Response) => response
  const response = await ask(server, '', { signal, headers, read })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let [text, last] = ['', after]
  for (;;) {
    // A connection that breaks ends the stream: what was not printed comes with the next one.
    const chunk = await reader?.read().catch(() => undefined)
    if (chunk?.value === undefined) return last
    const blocks = (text + chunk.value).split('\n\n')
    text = blocks.pop() ?? ''
    if (text.length > maxBlock) {
      await reader?.cancel()
      throw new Refusal({ error: { message: `${server.origin} sent no event, but endless text` } })
    }
    for (const block of blocks) {
      last = /^id: (.*)$/m.exec(block)?.[1] ?? last
      const body = /^data: (.*)$/m.exec(block)?.[1]
      if (body !== undefined) terminal.out(start.json ? toFetchedLine(body) : describeFetched(body))
    }
  }
}

function greet({ json }: ListenByKeyStart, origin: string): string {
  if (json) return `${JSON.stringify({ listening: { url: origin, consumer } })}\n`
  return `Listening for events of ${toPrintable(origin)} until Ctrl-C (consumer ${consumer}).\n`
}
