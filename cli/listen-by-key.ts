/**
 * `tributary webhooks listen --key K`: follows the events of a person by their key, from this moment on, as a
 * stream. Nothing has to be reachable from outside, and no endpoint is made (reading R42).
 */
import type { Environment } from '#settings/environment-file.ts'
import { describeFetched, type ListenTerminal, toFetchedLine } from './listen.ts'
import type { ListenByKeyStart } from './listen-start.ts'
import { toPrintable } from './printable.ts'
import { readSecrets, type SecretInput } from './read-secrets.ts'
import { Refusal } from './server.ts'

export interface KeyTerminal extends ListenTerminal {
  readonly input: SecretInput
  readonly err: (text: string) => void
}

/** All terminals of a person are one consumer. */
const consumer = 'terminal'
/** Requests in which what came since the last time is passed over. */
const maxPassed = 20
const retryMs = 1000

/** Resolves when it was stopped. @throws Refusal */
export async function listenByKey(start: ListenByKeyStart, terminal: KeyTerminal): Promise<0> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  void Promise.race([terminal.untilStopped(), terminal.untilUnread()]).then(stop)
  const server = await findServer(start, terminal)
  try {
    let after = await passOver(server, stopping.signal)
    terminal.out(greet(start, server.origin))
    while (!stopping.signal.aborted) {
      after = await follow(server, after, { start, terminal, signal: stopping.signal })
      await new Promise((resolve) => setTimeout(resolve, stopping.signal.aborted ? 0 : retryMs))
    }
  } catch (error) {
    if (!stopping.signal.aborted) throw error
  }
  return 0
}

interface KeyServer {
  readonly origin: string
  readonly key: string
}

async function findServer(start: ListenByKeyStart, terminal: KeyTerminal): Promise<KeyServer> {
  const { environment, input, err } = terminal
  const [given] = start.key === '-' ? await readSecrets(input, ['--key'], err) : [start.key]
  const key = given ?? environment.TRIBUTARY_API_KEY ?? ''
  if (key === '') {
    const message = 'Give --user, or an API key: --key or TRIBUTARY_API_KEY'
    throw new Refusal({ error: { message } })
  }
  return { origin: start.baseUrl ?? environment.TRIBUTARY_BASE_URL ?? toLocal(environment), key }
}

const toLocal = ({ BASE_URL, PORT }: Environment) =>
  BASE_URL ?? `http://127.0.0.1:${PORT ?? '3000'}`

/** @throws Refusal with what the server says, or that there is none. */
async function ask(
  { origin, key }: KeyServer,
  query: string,
  { signal, headers = {} }: { readonly signal: AbortSignal; readonly headers?: object },
): Promise<Response> {
  const url = `${origin}/v1/events?consumer=${consumer}${query}`
  const all = { authorization: `Bearer ${key}`, ...headers }
  const response = await fetch(url, { headers: all, signal, redirect: 'manual' }).catch((cause) => {
    throw new Refusal({ error: { message: `${origin} does not answer` } }, { cause })
  })
  if (response.ok) return response
  const text = await response.text()
  let envelope = { error: { message: `${origin} answered ${response.status}` } }
  try {
    envelope = JSON.parse(text)
  } catch {
    // Something else than the API answered.
  }
  throw new Refusal(envelope)
}

/** Acknowledges what came since the last time; returns the cursor behind it. */
async function passOver(server: KeyServer, signal: AbortSignal): Promise<string> {
  let after = ''
  for (let count = 0; count < maxPassed; count += 1) {
    const response = await ask(server, after === '' ? '' : `&after=${after}`, { signal })
    const { data, next } = (await response.json()) as { data: readonly unknown[]; next: string }
    after = next
    if (data.length === 0) break
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
  const response = await ask(server, '', { signal, headers })
  const decoder = new TextDecoder()
  let [text, last] = ['', after]
  try {
    for await (const chunk of response.body ?? []) {
      const blocks = (text + decoder.decode(chunk, { stream: true })).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        last = /^id: (.*)$/m.exec(block)?.[1] ?? last
        const body = /^data: (.*)$/m.exec(block)?.[1]
        if (body !== undefined)
          terminal.out(start.json ? toFetchedLine(body) : describeFetched(body))
      }
    }
  } catch {
    // The connection broke, or it was stopped: what was not printed comes with the next stream.
  }
  return last
}

function greet({ json }: ListenByKeyStart, origin: string): string {
  if (json) return `${JSON.stringify({ listening: { url: origin, consumer } })}\n`
  return `Listening for events of ${toPrintable(origin)} until Ctrl-C (consumer ${consumer}).\n`
}
