/**
 * Asks the server for the conformance kit, one request at a time, and keeps every answer for the checks that
 * look at all of them. It never asks more often than the server's own headers allow: an empty bucket and a
 * 429 are waited for.
 */
import { operations } from '#contract/operations.ts'
import { minuteMs } from '#kernel/time.ts'
import { CheckFailure, Skipped } from './check.ts'
import { type ServerAnswer, sendRequest } from './exchange.ts'

export interface ClientOptions {
  readonly baseUrl: string
  readonly key: string
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** Says why nothing happens for a while. */
  readonly tell: (line: string) => void
}

export interface SendOptions {
  readonly method?: string
  /** Absent: the key; null: no header. */
  readonly authorization?: string | null
}

export interface Client {
  readonly baseUrl: string
  /** In the order of the requests. */
  readonly answers: readonly ServerAnswer[]
  ask(path: string, sent?: SendOptions): Promise<ServerAnswer>
  /** The answer that this path had before, else it is asked for. */
  once(path: string): Promise<ServerAnswer>
}

interface Window {
  readonly remaining: number
  /** Milliseconds since the epoch. */
  readonly endsAt: number
}

const timeoutMs = 65_000
/** A window of the limits is a minute; clocks may differ a little. */
const maxWaitMs = 90_000
const maxTries = 3
/** Of a whole run, whatever the server does: its answers are kept, and its waits are obeyed. */
const [maxRunMinutes, maxRunMegabytes] = [45, 128]

export function makeClient(options: ClientOptions): Client {
  const answers: ServerAnswer[] = []
  const known = new Map<string, ServerAnswer>()
  const windows = new Map<string, Window>()
  const startedAt = options.now()
  let size = 0

  /** @throws CheckFailure when the run has taken too much; so does every check that asks afterwards. */
  function expectBounds(): void {
    const isLate = options.now() - startedAt > maxRunMinutes * minuteMs
    if (isLate) throw new CheckFailure(`a run of at most ${maxRunMinutes} minutes`, 'a longer one')
    const isLarge = size > maxRunMegabytes * 1024 * 1024
    if (isLarge) throw new CheckFailure(`answers of at most ${maxRunMegabytes} MiB in all`, 'more')
  }

  async function ask(path: string, sent: SendOptions = {}): Promise<ServerAnswer> {
    const bucket = bucketOf(path, sent)
    for (let tries = 1; ; tries += 1) {
      expectBounds()
      await waitForWindow(options, windows.get(bucket))
      const answer = await send(options, path, sent)
      size += answer.text.length
      answers.push(answer)
      const window = readWindow(answer)
      if (window !== null) windows.set(bucket, window)
      if (answer.status !== 429) return answer
      if (tries === maxTries) throw new Skipped(`the server limits ${path}: ${tries} times 429`)
      const seconds = Number(answer.headers.get('retry-after') ?? 1)
      await wait(options, seconds * 1000, 'the server answered 429')
    }
  }

  return {
    baseUrl: options.baseUrl,
    answers,
    ask,
    async once(path) {
      const answer = known.get(path) ?? (await ask(path))
      known.set(path, answer)
      return answer
    },
  }
}

function send(
  { baseUrl, key }: ClientOptions,
  path: string,
  sent: SendOptions,
): Promise<ServerAnswer> {
  const { method = 'GET', authorization = `Bearer ${key}` } = sent
  const headers = {
    accept: 'application/json',
    'user-agent': 'tributary-conformance',
    ...(authorization === null ? {} : { authorization }),
  }
  return sendRequest({ method, url: baseUrl + path, path, headers, timeoutMs })
}

/** Limits are per bucket and credential; what has no bucket of a key is counted before the key is known. */
function bucketOf(path: string, { method = 'GET', authorization }: SendOptions): string {
  const [name] = path.split('?')
  const found = operations.find((operation) => operation.path === name)
  if (found === undefined || method !== 'GET') return 'none'
  return authorization === undefined ? found.bucket : `before ${authorization}`
}

function readWindow({ headers }: ServerAnswer): Window | null {
  const read = (name: string) => {
    const text = headers.get(name) ?? ''
    return /^\d{1,12}$/.test(text) ? Number(text) : null
  }
  const limit = read('x-ratelimit-limit')
  const [remaining, reset] = [read('x-ratelimit-remaining'), read('x-ratelimit-reset')]
  // A limit of 0 is one that is turned off.
  if (limit === null || limit === 0 || remaining === null || reset === null) return null
  return { remaining, endsAt: reset * 1000 }
}

async function waitForWindow(options: ClientOptions, window: Window | undefined): Promise<void> {
  if (window === undefined || window.remaining > 0) return
  const ms = window.endsAt - options.now()
  if (ms > 0) await wait(options, ms, 'the rate limit is used up')
}

async function wait({ sleep, tell }: ClientOptions, ms: number, reason: string): Promise<void> {
  const bounded = Math.min(Math.max(Number.isFinite(ms) ? ms : 1000, 1000), maxWaitMs)
  tell(`${reason}: waiting ${Math.ceil(bounded / 1000)} s`)
  await sleep(bounded)
}
