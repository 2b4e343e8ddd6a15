/**
 * A mail server for tests, on loopback: it speaks SMTP over sockets (RFC 5321, STARTTLS, AUTH PLAIN), keeps
 * what it accepts, and can refuse, wait or hang up at any step.
 */
import assert from 'node:assert/strict'
import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Certificate } from './certificate.ts'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Names in lower case; folded lines joined, encoded words decoded. */
  readonly headers: Readonly<Record<string, string>>
  /** Decoded. */
  readonly text: string
  readonly raw: string
  /** The session had TLS. */
  readonly isSecure: boolean
  /** Whoever signed in; null: nobody. */
  readonly user: string | null
}

export interface MailServerOptions {
  readonly certificate?: Certificate
  /** Offer STARTTLS. */
  readonly startTls?: boolean
  /** TLS from the start. */
  readonly secure?: boolean
  readonly user?: string
  readonly password?: string
  readonly host?: string
}

/** Instead of the usual answer to a command: a line, or `hang`: none at all, or `close`. `null`: as usual. */
export type Rule = (command: string) => string | 'hang' | 'close' | null

export interface MailServer {
  readonly port: number
  readonly received: readonly ReceivedMail[]
  /** Every command line of all sessions, passwords included. */
  readonly commands: readonly string[]
  /** From now on; null: none. */
  setRule(rule: Rule | null): void
  /** Resolves with the mails once there are as many. */
  untilReceived(count: number): Promise<readonly ReceivedMail[]>
  close(): Promise<void>
}

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const state = {
    received: [] as ReceivedMail[],
    commands: [] as string[],
    rule: null as Rule | null,
    sockets: new Set<Socket>(),
  }
  const server = createServer((socket) => {
    state.sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => state.sockets.delete(socket))
    if (options.secure === true) serve(state, options, upgrade(socket, options))
    else serve(state, options, socket)
  })
  const port = await listen(server, options.host ?? '127.0.0.1')
  return {
    port,
    received: state.received,
    commands: state.commands,
    setRule(rule) {
      state.rule = rule
    },
    async untilReceived(count) {
      for (let look = 0; look < 500 && state.received.length < count; look += 1)
        await new Promise((resolve) => setTimeout(resolve, 20))
      assert.ok(
        state.received.length >= count,
        `only ${state.received.length} of ${count} mails came`,
      )
      return state.received
    },
    async close() {
      for (const socket of state.sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function listen(server: Server, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, () => {
      const address = server.address()
      assert(address !== null && typeof address === 'object')
      resolve(address.port)
    })
  })
}

function upgrade(socket: Socket, { certificate }: MailServerOptions): TLSSocket {
  assert(certificate !== undefined)
  const secureContext = createSecureContext(certificate)
  const secured = new TLSSocket(socket, { isServer: true, secureContext })
  secured.on('error', () => {})
  return secured
}

interface State {
  readonly received: ReceivedMail[]
  readonly commands: string[]
  rule: Rule | null
}

interface Session {
  socket: Socket
  from: string
  to: string[]
  /** Lines of the mail; null: commands are expected. */
  data: string[] | null
  user: string | null
  isSecure: boolean
}

function serve(state: State, options: MailServerOptions, socket: Socket): void {
  const session: Session = {
    socket,
    from: '',
    to: [],
    data: null,
    user: null,
    isSecure: socket instanceof TLSSocket,
  }
  const greeting = state.rule?.('CONNECT') ?? '220 test ESMTP'
  answer(session, greeting)
  read(state, options, session)
}

function answer({ socket }: Session, line: string | null): void {
  if (line === 'close') socket.destroy()
  else if (line !== null && line !== 'hang') socket.write(`${line}\r\n`)
}

function read(state: State, options: MailServerOptions, session: Session): void {
  let rest = ''
  const { socket } = session
  socket.on('data', (bytes: Buffer) => {
    const lines = (rest + bytes.toString('utf8')).split('\r\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (session.data !== null) takeLine(state, session, line)
      else answer(session, obey(state, options, session, line))
    }
  })
}

function takeLine(state: State, session: Session, line: string): void {
  if (session.data === null) return
  if (line !== '.') {
    session.data.push(line.startsWith('..') ? line.slice(1) : line)
    return
  }
  const raw = session.data.join('\r\n')
  session.data = null
  const refusal = state.rule?.('.') ?? null
  if (refusal === null) {
    const { from, to, isSecure, user } = session
    state.received.push({ ...parse(raw), from, to, raw, isSecure, user })
  }
  answer(session, refusal ?? '250 accepted')
}

/** The answer to a command; null: it was given already. */
function obey(
  state: State,
  options: MailServerOptions,
  session: Session,
  line: string,
): string | null {
  state.commands.push(line)
  const refusal = state.rule?.(line) ?? null
  if (refusal !== null) return refusal
  const [verb = ''] = line.toUpperCase().split(/[ :]/)
  const address = /<([^>]*)>/.exec(line)?.[1] ?? ''
  switch (verb) {
    case 'EHLO':
      return offer(options, session)
    case 'STARTTLS':
      return startTls(state, options, session)
    case 'AUTH':
      return signIn(options, session, line)
    case 'MAIL':
      session.from = address
      session.to = []
      return '250 ok'
    case 'RCPT':
      session.to.push(address)
      return '250 ok'
    case 'DATA':
      session.data = []
      return '354 go on'
    case 'QUIT':
      session.socket.end('221 bye\r\n')
      return null
    default:
      return '250 ok'
  }
}

function offer({ startTls, user }: MailServerOptions, { isSecure }: Session): string {
  const lines = ['test', '8BITMIME', 'SMTPUTF8']
  if (startTls === true && !isSecure) lines.push('STARTTLS')
  if (user !== undefined) lines.push('AUTH PLAIN')
  return lines.map((line, at) => `250${at < lines.length - 1 ? '-' : ' '}${line}`).join('\r\n')
}

function startTls(state: State, options: MailServerOptions, session: Session): string | null {
  if (options.startTls !== true) return '502 not offered'
  answer(session, '220 go on')
  session.socket.removeAllListeners('data')
  session.socket = upgrade(session.socket, options)
  session.isSecure = true
  read(state, options, session)
  return null
}

function signIn({ user, password }: MailServerOptions, session: Session, line: string): string {
  const [, given = '', pass = ''] = Buffer.from(line.split(' ')[2] ?? '', 'base64')
    .toString('utf8')
    .split('\0')
  const isRight = user !== undefined && given === user && pass === password
  if (isRight) session.user = given
  return isRight ? '235 ok' : '535 5.7.8 refused'
}

function parse(raw: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const cut = raw.indexOf('\r\n\r\n')
  const head = raw.slice(0, cut).replace(/\r\n[ \t]+/g, ' ')
  const headers = Object.fromEntries(
    head.split('\r\n').map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), decodeWords(line.slice(at + 1).trim())]
    }),
  )
  const body = raw.slice(cut + 4)
  return { headers, text: decodeBody(body, headers['content-transfer-encoding'] ?? '7bit') }
}

function decodeBody(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8')
  const plain = encoding === 'quoted-printable' ? decodeQuoted(body) : body
  return plain.replaceAll('\r\n', '\n')
}

function decodeQuoted(text: string): string {
  const joined = text.replace(/=\r\n/g, '')
  const bytes = joined.replace(/=([0-9A-F]{2})/g, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** RFC 2047. */
function decodeWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_all, kind: string, word: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(word, 'base64').toString('utf8')
        : decodeQuoted(word.replaceAll('_', ' ')),
    )
}
