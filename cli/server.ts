/**
 * The admin API from the command's side: its address, its token, and one bounded call. Every failure is a
 * Refusal with the error envelope that is shown.
 */

import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCode } from '#kernel/error-code.ts'
import {
  type Environment,
  type EnvironmentFile,
  EnvironmentFileError,
  readEnvironmentFile,
} from '#settings/environment-file.ts'
import { readHost, toLocalUrl } from '#settings/listener.ts'
import { plainFileFlags } from '#store/plain-file.ts'

export interface Server {
  readonly url: string
  readonly token: string
}

export interface ErrorBody {
  readonly error: {
    readonly message: string
    readonly code?: string
    readonly details?: readonly string[]
  }
}

/** The call was refused, or could not be made: exit code 1. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly envelope: ErrorBody
  /** The status of the server's answer; null when the refusal is the command's own. */
  readonly status: number | null
  constructor(
    envelope: ErrorBody,
    options: { readonly status?: number; readonly cause?: unknown } = {},
  ) {
    super(envelope.error.message, { cause: options.cause })
    this.envelope = envelope
    this.status = options.status ?? null
  }
}

const refusal = (message: string, details: readonly string[] = [], cause?: unknown) =>
  new Refusal({ error: { message, ...(details.length === 0 ? {} : { details }) } }, { cause })

/**
 * What changes something may ask a provider: three times the server's own time limit for that
 * (`REQUEST_TIMEOUT_MS`, a minute unless set), because an action may wait for others on the same person. The
 * doctor alone asks providers and changes nothing, for ten seconds at most.
 */
const usualWaitSeconds = { change: 180, read: 60 }
const maxAnswerBytes = 64 * 1024 * 1024
const clone = fileURLToPath(new URL('..', import.meta.url))

/** Finds the server. @throws Refusal when there is no token. */
export async function findServer(own: Environment, workingDirectory: string): Promise<Server> {
  const file = findFile(own, workingDirectory)
  const environment: Environment = { ...file?.variables, ...own }
  const read = (name: string) => environment[name]?.trim() || undefined
  const url = readUrl(read)
  const token = read('ADMIN_TOKEN')
  if (token !== undefined) return { url, token: demandToken(token, 'ADMIN_TOKEN') }
  const dataDir = read('DATA_DIR')
  // The server's default is `./data`, and it is usually started in the clone.
  const folders =
    dataDir === undefined
      ? [resolve(workingDirectory, 'data'), join(clone, 'data')]
      : [
          resolve(
            own.DATA_DIR === undefined && file ? dirname(file.path) : workingDirectory,
            dataDir,
          ),
        ]
  const files = [...new Set(folders)].map((folder) => join(folder, 'admin-token'))
  for (const file of files) {
    const text = await readIfThere(file)
    if (text !== null) return { url, token: demandToken(text, file) }
  }
  throw refusal('There is no admin token here; start the server first, or set ADMIN_TOKEN', [
    `looked for ${files.join(' and ')}`,
    'DATA_DIR names the data directory of the server; ADMIN_URL and ADMIN_TOKEN choose another server',
  ])
}

/** As the service takes it; a header can hold nothing else. @throws Refusal */
function demandToken(text: string, place: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw refusal(`${place} is no admin token: it has blanks, line ends or other characters of none`)
}

/**
 * The `.env` of the server, which reads it in its working directory: usually the clone. Not read when the
 * environment already has everything needed, nor in tests.
 */
function findFile(own: Environment, workingDirectory: string): EnvironmentFile | null {
  if (own.NODE_ENV === 'test' || (own.ADMIN_URL && own.ADMIN_TOKEN)) return null
  try {
    return readEnvironmentFile(workingDirectory) ?? readEnvironmentFile(clone)
  } catch (error) {
    if (error instanceof EnvironmentFileError) throw refusal(error.message, [], error)
    throw error
  }
}

/** @throws Refusal which names the variable that is set. */
function readUrl(read: (name: string) => string | undefined): string {
  const given = read('ADMIN_URL')
  const [host, port] = [read('ADMIN_HOST') ?? '127.0.0.1', read('ADMIN_PORT') ?? '3001']
  const isPort = /^\d{1,5}$/.test(port) && Number(port) <= 65_535
  if (given === undefined && !isPort)
    throw refusal(`ADMIN_PORT should be a whole number from 0 to 65535, not ${show(port)}`)
  const text = given ?? (readHost(host) === undefined ? '' : toLocalUrl(host, port))
  const url = URL.canParse(text) ? new URL(text) : null
  if (url !== null && url.username + url.password !== '')
    throw refusal('ADMIN_URL should have no user and no password: the admin token alone is sent')
  if (url !== null && ['http:', 'https:'].includes(url.protocol))
    return url.href.replace(/[/]+$/, '')
  throw given === undefined
    ? refusal(`ADMIN_HOST should be a host name or an IP address, not ${show(host)}`)
    : refusal(`ADMIN_URL should be an http or https URL, not ${show(given)}`)
}

/** What has an `@` may hold a password. */
const show = (text: string) => (text.includes('@') ? 'a value that is not shown here' : `"${text}"`)

async function readIfThere(file: string): Promise<string | null> {
  try {
    // Through a link any file of this user would be sent as the token.
    return (await readFile(file, { encoding: 'utf8', flag: plainFileFlags })).trim()
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    const why = code === 'ELOOP' ? 'it is a link' : code || 'unknown'
    throw refusal(`${file} cannot be read (${why}); set ADMIN_TOKEN instead`, [], error)
  }
}

export interface Call {
  readonly method: string
  readonly path: string
  readonly body: unknown
  /** Absent: by the method. */
  readonly waitSeconds?: number | undefined
}

/** Makes the call; returns the parsed answer, null when there is none. @throws Refusal */
export async function callServer(server: Server, call: Call): Promise<unknown> {
  const { response, text } = await exchange(server, call)
  const { status, headers } = response
  const connectionStatus = headers.get('x-connection-status')
  if (status === 204 && connectionStatus !== null) return { status: connectionStatus }
  const { url } = server
  // The public listener answers unknown paths with the envelope too, but with an `X-Cache` header.
  const isPublic = headers.has('x-cache')
  return toAnswer({ status, text, url, isPublic, requestId: headers.get('x-request-id') })
}

/** What the admin API answered. */
export interface RawAnswer {
  readonly status: number
  readonly text: string
  readonly url?: string
  readonly isPublic?: boolean
  readonly requestId?: string | null
}

/** The parsed answer, null when it is empty. @throws Refusal for one that is not a success. */
export function toAnswer(raw: RawAnswer): unknown {
  const { status, text, url = 'the admin API', isPublic = false, requestId = null } = raw
  const isOk = status >= 200 && status < 300
  if (isOk && text === '') return null
  const answer = parseJsonAnswer(text)
  if (isOk && answer !== undefined) return answer
  if (isEnvelope(answer) && !isPublic) {
    throw new Refusal(withRequestId(answer, status, requestId), { status })
  }
  throw refusal(`${url} answered ${status}, but not as the admin API does`, [whichListener])
}

const whichListener =
  'ADMIN_URL must be the admin listener (ADMIN_HOST, ADMIN_PORT), not the public one'

/** The list of the Fetch standard, which the runtime keeps. */
const blockedPort =
  'port that no client of the web may ask, since another protocol has it; choose another ADMIN_PORT'

const whenPlain =
  'The admin listener speaks plain HTTP: begin ADMIN_URL with http://, unless a proxy before it speaks TLS'

const whenHung =
  'Something listens there and does not answer: see whether its process is stopped or busy, and restart it'

async function exchange(server: Server, call: Call): Promise<{ response: Response; text: string }> {
  const waitSeconds =
    call.waitSeconds ?? usualWaitSeconds[call.method === 'GET' ? 'read' : 'change']
  const signal = AbortSignal.timeout(waitSeconds * 1000)
  try {
    const response = await fetch(server.url + call.path, {
      method: call.method,
      headers: {
        authorization: `Bearer ${server.token}`,
        ...(call.body === null ? {} : { 'content-type': 'application/json' }),
      },
      body: call.body === null ? null : JSON.stringify(call.body),
      redirect: 'error',
      signal,
    })
    const text = await readAnswerText(response)
    return { response, text: response.ok ? text : withoutToken(text, server.token) }
  } catch (error) {
    if (error instanceof Refusal) throw error
    if (signal.aborted) {
      const message = `${server.url} did not answer within ${waitSeconds} seconds`
      throw refusal(message, [whenHung], error)
    }
    throw toUnanswered(server.url, error)
  }
}

/** Nothing listens there, or what listens is not the admin API. */
function toUnanswered(url: string, error: unknown): Refusal {
  const cause: (Error & { code?: string }) | undefined =
    error instanceof Error && error.cause instanceof Error ? error.cause : undefined
  if (cause?.code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return refusal(`What answers at ${url} does not speak TLS`, [whenPlain], error)
  }
  if (cause !== undefined && isWrongAnswer(cause)) {
    return refusal(
      `${url} gave no answer that can be read: ${cause.message}`,
      [whichListener],
      error,
    )
  }
  if (cause?.message === 'bad port') return refusal(`${url} has a ${blockedPort}`, [], error)
  return refusal(`No server answers at ${url}; start it, or set ADMIN_URL`, [], error)
}

/**
 * What `fetch` says where the server speaks no HTTP, closes the connection, redirects, or has a certificate
 * that nobody vouches for.
 */
const isWrongAnswer = (cause: Error & { code?: string }): boolean =>
  cause.name === 'HTTPParserError' ||
  cause.message === 'unexpected redirect' ||
  ['UND_ERR_SOCKET', 'ECONNRESET'].includes(cause.code ?? '') ||
  /^ERR_(?:SSL|TLS)_|^UNABLE_TO_|CERT/.test(cause.code ?? '')

/** The text of an answer, UTF-8. @throws Refusal for one beyond 64 MiB. */
export async function readAnswerText(response: Response): Promise<string> {
  if (response.body === null) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.length
    if (size > maxAnswerBytes) throw refusal('The answer is too large to be read')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The error that an answer holds; null: it holds none. */
export function readErrorBody(text: string): ErrorBody | null {
  const answer = parseJsonAnswer(text)
  return isEnvelope(answer) ? answer : null
}

/** What an answer holds; undefined when it is not JSON. */
export function parseJsonAnswer(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isEnvelope(answer: unknown): answer is ErrorBody {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return false
  const { error } = answer
  return typeof error === 'object' && error !== null && 'message' in error
}

/** The message for a person: what the provider says begins like this in the envelope. */
export const withoutPrefix = (message: string) =>
  message.replace(/^Upstream rejected request: /, '')

/** A 500 has no details; the server's log has them under this id. */
function withRequestId(envelope: ErrorBody, status: number, id: string | null): ErrorBody {
  if (status !== 500 || id === null) return envelope
  const details = [...(envelope.error.details ?? []), `X-Request-Id: ${id}`]
  return { error: { ...envelope.error, details } }
}

/** Shorter than any token that a service accepts: it may be a word of the sentence, and is no secret. */
const shortestToken = 16

/** The text without a secret that was sent: what is none of our servers may repeat it. */
export function withoutToken(text: string, token: string): string {
  return token.length < shortestToken ? text : text.replaceAll(token, '[secret]')
}
