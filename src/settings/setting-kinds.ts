/**
 * One environment variable as data: its default, its meaning and its parser. Parsers are pure; they return
 * `undefined` for a text that they refuse, and are not called for an unset variable.
 */
import { readPrivateKey } from '#kernel/rsa-key.ts'
import { Secret } from '#kernel/secret.ts'
import { readHost } from './listener.ts'

export interface Setting<Value> {
  /** The value when the variable is unset; null when other variables decide (`defaultText` describes how). */
  readonly fallback: Value
  /** The default as the documentation shows it; empty: none. */
  readonly defaultText: string
  /** Completes "should be …". */
  readonly expects: string
  /**
   * In place of `expects` where more can be said of a refused text; null: it cannot. Never repeats the text.
   */
  readonly explain?: (text: string) => string | null
  readonly meaning: string
  /** The value is never shown in a problem, nor suggested in `.env.example`. */
  readonly isSecret: boolean
  /** Undefined: refused. */
  parse(text: string): Value | undefined
}

type Texts = { readonly meaning: string; readonly defaultText?: string }

/** A whole number within bounds (both inclusive). */
export function integer(
  fallback: number,
  bounds: { readonly min: number; readonly max: number },
  meaning: string,
): Setting<number> {
  return {
    fallback,
    defaultText: String(fallback),
    expects: `a whole number from ${bounds.min} to ${bounds.max}`,
    meaning,
    isSecret: false,
    parse: (text) => parseInteger(text, bounds),
  }
}

function parseInteger(
  text: string,
  bounds: { readonly min: number; readonly max: number },
): number | undefined {
  if (!/^\d{1,15}$/.test(text)) return undefined
  const value = Number(text)
  return value >= bounds.min && value <= bounds.max ? value : undefined
}

/** `true` or `false`; with a null fallback, other code decides the default. */
export function flag<Fallback extends boolean | null>(
  fallback: Fallback,
  texts: Texts,
): Setting<boolean | Fallback> {
  return {
    fallback,
    defaultText: texts.defaultText ?? String(fallback),
    expects: 'true or false',
    meaning: texts.meaning,
    isSecret: false,
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  }
}

/** One word of a list. */
export function choice<const Word extends string, Fallback extends Word | null>(
  words: readonly Word[],
  fallback: Fallback,
  texts: Texts,
): Setting<Word | Fallback> {
  return {
    fallback,
    defaultText: texts.defaultText ?? String(fallback),
    expects: `one of ${words.join(', ')}`,
    meaning: texts.meaning,
    isSecret: false,
    parse: (text) => words.find((word) => word === text),
  }
}

/** Free text of visible characters. */
export function text<Fallback extends string | null>(
  fallback: Fallback,
  texts: Texts,
): Setting<string | Fallback> {
  return {
    fallback,
    defaultText: texts.defaultText ?? fallback ?? '',
    expects: 'text without blanks or control characters',
    meaning: texts.meaning,
    isSecret: false,
    parse: (given) => (/^[\x21-\x7e]+$/.test(given) ? given : undefined),
  }
}

/** A value still in quotes, as `docker run --env-file` leaves them. */
const quoted = /^(["']).*\1$/s

/** A directory; the path may contain spaces and characters of any script. */
export function directory(fallback: string, meaning: string): Setting<string> {
  return {
    fallback,
    defaultText: fallback,
    expects: 'the path of a directory, without quotes or ~, not below /proc',
    meaning,
    isSecret: false,
    parse: (given) => {
      // Only a shell knows ~: here it would be the name of a new folder.
      if (quoted.test(given) || /^~(?:\/|$)/.test(given)) return undefined
      // Node never ends making a directory there, since the system says that the parent is missing.
      return given.includes('\0') || /^\/proc(?:\/|$)/.test(given) ? undefined : given
    },
  }
}

/** A token or password: visible ASCII, since it is sent in headers. */
export function secret(meaning: string, defaultText = ''): Setting<Secret<string> | null> {
  return {
    fallback: null,
    defaultText,
    expects: 'text without blanks, control or non-ASCII characters',
    meaning,
    isSecret: true,
    parse: (given) => (/^[\x21-\x7e]+$/.test(given) ? new Secret(given) : undefined),
  }
}

/** A token that callers send to this service: quotes around it would be part of it. */
export function ownToken(meaning: string, defaultText: string): Setting<Secret<string> | null> {
  const plain = secret(meaning, defaultText)
  return {
    ...plain,
    expects: 'text without quotes around it, blanks, control or non-ASCII characters',
    parse: (given) => (quoted.test(given) ? undefined : plain.parse(given)),
  }
}

/** A key that its issuer shows as Base64. */
export function base64Secret(meaning: string): Setting<Secret<string> | null> {
  return {
    ...secret(meaning),
    expects: 'the Base64 text of a key of 16 bytes or more, as its issuer shows it',
    parse: (given) => {
      const isBase64 = /^[A-Za-z0-9+/]{22,}={0,2}$/.test(given)
      return isBase64 ? new Secret(given) : undefined
    },
  }
}

/** An RSA private key in any form in which it is copied; its value is PEM. */
export function rsaKey(meaning: string): Setting<Secret<string> | null> {
  return {
    ...secret(meaning),
    expects:
      'an RSA private key: its file in base64 (base64 -w0 FILE), or PEM in one line with \\n for its line ends',
    explain: (given) => {
      const read = readPrivateKey(given)
      return read.kind === 'problem' ? `an RSA private key; it ${read.detail}` : null
    },
    parse: (given) => {
      const read = readPrivateKey(given)
      return read.kind === 'key' ? new Secret(read.pem) : undefined
    },
  }
}

/** A file that is read at the start. */
export function file(meaning: string): Setting<string | null> {
  return {
    ...directory('', meaning),
    fallback: null,
    expects: 'the path of a file, without quotes or ~',
  }
}

/** Codes of countries, ISO 3166-1 alpha-2, separated by commas. */
export function countryCodes(
  meaning: string,
  defaultText: string,
): Setting<readonly string[] | null> {
  return {
    fallback: null,
    defaultText,
    expects: 'two-letter codes of countries separated by commas, e.g. FI,SE',
    meaning,
    isSecret: false,
    parse: (given) => {
      const codes = given.split(',').map((code) => code.trim().toUpperCase())
      return codes.every((code) => /^[A-Z]{2}$/.test(code)) ? [...new Set(codes)].sort() : undefined
    },
  }
}

/** An http or https URL without user-info, query or fragment; trailing slashes are removed. */
export function webUrl(fallback: string, meaning: string): Setting<string> {
  return {
    fallback,
    defaultText: fallback,
    expects: 'an http:// or https:// URL without user-info, query or fragment',
    meaning,
    isSecret: false,
    parse: parseWebUrl,
  }
}

/** Does what `webUrl` does, where nothing is the default. */
export function optionalWebUrl(texts: Texts): Setting<string | null> {
  return { ...webUrl('', texts.meaning), fallback: null, defaultText: texts.defaultText ?? '' }
}

/**
 * Names and values of headers as OpenTelemetry writes them: `name=value` separated by commas, the values
 * percent-encoded.
 */
export function headerPairs(
  meaning: string,
): Setting<Secret<Readonly<Record<string, string>>> | null> {
  return {
    fallback: null,
    defaultText: '',
    expects: 'name=value pairs separated by commas, with percent-encoded values',
    meaning,
    isSecret: true,
    parse(given) {
      const pairs = given.split(',').map((pair) => /^\s*([\w.-]+)\s*=\s*(\S+)\s*$/.exec(pair))
      const known = pairs.flatMap((pair) => (pair === null ? [] : [toHeader(pair[1], pair[2])]))
      if (known.length !== pairs.length || known.includes(null)) return undefined
      return new Secret(Object.fromEntries(known.filter((header) => header !== null)))
    },
  }
}

/** Null: the value is no percent-encoded text that a header may have. */
function toHeader(name = '', value = ''): readonly [string, string] | null {
  try {
    const text = decodeURIComponent(value)
    return /^[\x20-\x7e]+$/.test(text) ? [name.toLowerCase(), text] : null
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}

/** Does what `webUrl` does, for an origin without a path. */
export function origin(texts: Texts): Setting<string | null> {
  return {
    fallback: null,
    defaultText: texts.defaultText ?? '',
    expects: 'an http:// or https:// origin such as https://bank.example.com, without a path',
    meaning: texts.meaning,
    isSecret: false,
    parse: (given) => {
      const url = parseWebUrl(given)
      return url !== undefined && new URL(url).pathname === '/' ? url : undefined
    },
  }
}

function parseWebUrl(given: string): string | undefined {
  const url = URL.parse(given)
  if (url === null || !/^https?:\/\//i.test(given)) return undefined
  if (url.username !== '' || url.password !== '' || /[?#]/.test(given)) return undefined
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** A name or address to listen on; loopback unless it is set. */
export function host(meaning: string): Setting<string> {
  const fallback = '127.0.0.1'
  return {
    fallback,
    defaultText: fallback,
    expects: 'a host name or an IP address',
    meaning,
    isSecret: false,
    parse: readHost,
  }
}

/** Whole numbers separated by commas. */
export function integers(
  fallback: readonly number[],
  bounds: { readonly min: number; readonly max: number; readonly count: number },
  meaning: string,
): Setting<readonly number[]> {
  return {
    fallback,
    defaultText: fallback.join(','),
    expects: `1 to ${bounds.count} whole numbers from ${bounds.min} to ${bounds.max}, separated by commas`,
    meaning,
    isSecret: false,
    parse: (given) => {
      const values = given.split(',').map((item) => parseInteger(item.trim(), bounds))
      const known = values.filter((value) => value !== undefined)
      return known.length === values.length && known.length <= bounds.count ? known : undefined
    },
  }
}
