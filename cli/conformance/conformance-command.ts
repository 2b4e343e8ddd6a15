/** The words and flags of `tributary conformance`, and what they mean together. */
import type { LocalCommand } from '../command.ts'

export type ConformanceStart =
  | {
      readonly of: 'server'
      readonly baseUrl: string
      /** Null: TRIBUTARY_API_KEY has it. `-`: a line of standard input. */
      readonly key: string | null
      readonly isQuick: boolean
      readonly json: boolean
    }
  | {
      readonly of: 'receiver'
      readonly url: string
      /** `-`: a line of standard input. */
      readonly secret: string
      readonly json: boolean
    }

export const conformanceCommand: LocalCommand = {
  noun: 'conformance',
  verb: '',
  summary:
    'check from outside that a server keeps the contract of this API, or that a receiver of events does',
  places: [],
  flags: [
    { name: 'base-url', value: 'URL', help: 'of the server, e.g. https://example.com' },
    {
      name: 'key',
      value: 'KEY',
      isSecret: true,
      help: 'an API key of that server; else TRIBUTARY_API_KEY has it',
    },
    { name: 'quick', value: null, help: 'leave out the walks over many windows' },
    { name: 'receiver', value: 'URL', help: 'check this receiver of events in place of a server' },
    { name: 'secret', value: 'whsec_…', isSecret: true, help: 'the secret of the receiver' },
  ],
}

type Values = Readonly<Record<string, string | true | undefined>>

/** A text says what is wrong with the flags. */
export function toConformanceStart(values: Values, isJson: boolean): ConformanceStart | string {
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : null)
  const json = isJson || values.json === true
  const [baseUrl, receiver] = [text('base-url'), text('receiver')]
  if ((baseUrl === null) === (receiver === null)) return 'give --base-url or --receiver'
  if (receiver !== null) {
    const surplus = ['key', 'quick'].find((name) => values[name] !== undefined)
    if (surplus !== undefined) return `--${surplus} does not go with --receiver`
    const secret = text('secret')
    if (secret === null) return '--secret is missing'
    if (secret !== '-' && !isSecret(secret)) return secretRule
    return isHttp(receiver) ? { of: 'receiver', url: receiver, secret, json } : httpRule('receiver')
  }
  if (values.secret !== undefined) return '--secret does not go with --base-url'
  if (baseUrl === null || !isHttp(baseUrl)) return httpRule('base-url')
  const url = new URL(baseUrl)
  return {
    of: 'server',
    baseUrl: (url.origin + url.pathname).replace(/\/+$/, ''),
    key: text('key'),
    isQuick: values.quick === true,
    json,
  }
}

export const secretRule = '--secret must be whsec_ and base64'

export function isSecret(text: string): boolean {
  return /^whsec_[A-Za-z0-9+/]+=*$/.test(text)
}

function isHttp(text: string): boolean {
  return ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '')
}

const httpRule = (flag: string) => `--${flag} must be an http or https URL`
