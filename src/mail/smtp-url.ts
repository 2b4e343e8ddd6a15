/**
 * Reads `SMTP_URL`: the mail server, who signs in there, and the sender. User and password are
 * percent-encoded (RFC 3986 §3.2.1). Pure; a text that it refuses is never shown.
 */
import { isEmail, tidyEmail } from '#contract/email.ts'
import { isLoopbackHost } from '#kernel/addresses.ts'
import { Secret } from '#kernel/secret.ts'

/** The name and the address that mails come from. */
export interface Sender {
  readonly name: string
  readonly address: string
}

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** `smtps`: TLS from the first byte. */
  readonly isSecure: boolean
  /** Otherwise STARTTLS is demanded, except on this machine and where `?tls=never` was asked for. */
  readonly isPlain: boolean
  /** Null: nobody signs in. */
  readonly login: { readonly user: string; readonly password: Secret<string> } | null
  /** Null: not given; the host of the public origin decides. */
  readonly from: Sender | null
}

/** For submission with STARTTLS (RFC 6409) and with TLS from the start (RFC 8314). */
const ports = { 'smtp:': 587, 'smtps:': 465 } as const
const hostName = /^(?!-)[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.?$/
const maxNameLength = 100

/** Undefined: refused. */
export function parseSmtpUrl(text: string): SmtpServer | undefined {
  const url = URL.parse(text)
  if (url === null || !text.includes('://')) return undefined
  const { protocol } = url
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return undefined
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isHost = hostName.test(host) || url.hostname.startsWith('[')
  const port = url.port === '' ? ports[protocol] : Number(url.port)
  if (!isHost || port === 0 || !/^\/?$/.test(url.pathname) || url.hash !== '') return undefined
  const login = readLogin(url)
  const options = readOptions(url)
  if (login === undefined || options === undefined) return undefined
  const isSecure = protocol === 'smtps:'
  // A password is never sent through a network in plain text.
  if (options.isPlain && (isSecure || login !== null)) return undefined
  const isPlain = !isSecure && (options.isPlain || isLoopbackHost(host))
  return { host, port, isSecure, isPlain, login, from: options.from }
}

/** The sender where `SMTP_URL` names none. `origin`: the public origin. An address has no domain. */
export function defaultSender(origin: string): Sender {
  const host = new URL(origin).hostname
  const isName = hostName.test(host) && !/^[\d.]+$/.test(host)
  return { name: 'Tributary', address: `no-reply@${isName ? host : 'localhost'}` }
}

/** A user without a password, or the other way round, is a slip. */
function readLogin({ username, password }: URL): SmtpServer['login'] | undefined {
  if (username === '' && password === '') return null
  const [user, pass] = [decode(username), decode(password)]
  if (!isCredential(user) || !isCredential(pass)) return undefined
  return { user, password: new Secret(pass) }
}

/** Null bytes and line ends would end the command that carries it. */
function isCredential(text: string | undefined): text is string {
  return text !== undefined && text !== '' && !/\p{Cc}/u.test(text)
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

interface SmtpUrlOptions {
  readonly from: Sender | null
  /** `?tls=never` */
  readonly isPlain: boolean
}

/** Any other parameter or value, and one given twice, is a slip. */
function readOptions({ searchParams }: URL): SmtpUrlOptions | undefined {
  const names = [...searchParams.keys()]
  const isKnown = names.every((name) => name === 'from' || name === 'tls')
  if (!isKnown || new Set(names).size < names.length) return undefined
  const [from, tls] = [searchParams.get('from'), searchParams.get('tls')]
  const sender = from === null ? null : parseSender(from)
  if (sender === undefined || (tls !== null && tls !== 'never')) return undefined
  return { from: sender, isPlain: tls === 'never' }
}

/** `address` or `Name <address>`. */
function parseSender(text: string): Sender | undefined {
  const [, name = '', inner = ''] = /^([^<>]*)<([^<>]+)>$/.exec(text.trim()) ?? []
  const address = tidyEmail(inner === '' ? text : inner)
  const isName = name.length <= maxNameLength && !/[\p{Cc}"]/u.test(name)
  if (!isName || !isEmail(address) || /[<>,;"]/.test(address)) return undefined
  return { name: name.trim() === '' ? 'Tributary' : name.trim(), address }
}
