/**
 * The variables that are URLs of PostgreSQL and Redis. What their drivers would misread is refused by name: a
 * password that is not percent-encoded, a parameter that would be ignored or mean something else. A URL is
 * never shown: it may hold a password.
 */
import { Secret } from '#kernel/secret.ts'
import { findUnencoded, parseServerUrl } from '#kernel/server-url.ts'
import type { Setting } from './setting-kinds.ts'

type UrlSetting = Setting<Secret<string> | null>
type Texts = { readonly meaning: string; readonly defaultText: string }

interface Rules {
  readonly schemes: readonly string[]
  readonly expects: string
  /** How the URL should be; null: nothing is wrong with it. */
  readonly findFault: (url: URL) => string | null
}

function serverUrl({ schemes, expects, findFault }: Rules, texts: Texts): UrlSetting {
  const explain = (text: string) => {
    const url = parseServerUrl(text)?.url
    const isOurs = schemes.some((scheme) => text.toLowerCase().startsWith(`${scheme}://`))
    if (!isOurs) return expects
    const unread = 'a URL of one server, with a number up to 65535 as its port where it names one'
    return findUnencoded(text) ?? (url === undefined ? unread : findFault(url))
  }
  return {
    ...texts,
    fallback: null,
    expects,
    isSecret: true,
    explain,
    parse: (given) => (explain(given) === null ? new Secret(given) : undefined),
  }
}

/** What the driver knows of TLS, spelt as it must be. Other names it ignores, and connects without. */
const tlsParameters = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation']

/** The modes that do what they say: a fallback to no TLS gives no security, and the driver has none. */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify']

export const databaseUrl = (texts: Texts): UrlSetting =>
  serverUrl(
    {
      schemes: ['postgres', 'postgresql'],
      expects: 'a URL that starts with postgres:// or postgresql://',
      // With anything but a number the driver waits without an end.
      findFault: ({ searchParams }) =>
        /^\d{1,5}$/.test(searchParams.get('port') ?? '0')
          ? findTlsFault(searchParams)
          : 'a URL with a number as its port',
    },
    texts,
  )

function findTlsFault(given: URLSearchParams): string | null {
  // With this the driver takes `require` for a connection to anybody who has a certificate, of any name.
  if ([...given.keys()].some((name) => /libpq/i.test(name))) {
    return 'a URL without uselibpqcompat: with sslmode=verify-full, or with no-verify where nothing is to be verified'
  }
  const names = [...given.keys()].filter((name) => /ssl|tls/i.test(name))
  if (!names.every((name) => tlsParameters.includes(name))) {
    return `a URL with no other parameters of TLS than ${tlsParameters.join(', ')}, in small letters`
  }
  // The driver takes the last one.
  if (new Set(names).size < names.length) return 'a URL with each parameter of TLS once'
  const sslMode = given.get('sslmode')
  if (sslMode !== null && !sslModes.includes(sslMode)) {
    return `a URL with an sslmode of ${sslModes.join(', ')} (prefer and allow would fall back to no TLS)`
  }
  const ssl = given.get('ssl')
  // Any other text, such as "false", means TLS to the driver.
  if (ssl !== null && !['true', '1', '0'].includes(ssl)) return 'a URL with sslmode in place of ssl'
  const negotiation = given.get('sslnegotiation')
  if (negotiation !== null && !['postgres', 'direct'].includes(negotiation)) {
    return 'a URL with an sslnegotiation of postgres or direct'
  }
  // The driver ignores a file without a name, and connects without TLS.
  if (names.some((name) => given.get(name) === '')) return 'a URL with no empty parameter of TLS'
  if ((sslMode === 'disable' || ssl === '0') && names.length > 1) {
    return 'a URL with no other parameter of TLS beside the one that switches TLS off: they would have no effect'
  }
  if (sslMode === 'no-verify' && given.has('sslrootcert')) {
    return 'a URL with sslmode=verify-full beside sslrootcert: no-verify does not look at certificates'
  }
  return negotiation === 'postgres' && names.length === 1
    ? 'a URL with sslmode=verify-full beside sslnegotiation=postgres, which does not switch TLS on'
    : null
}

/** Its path may only be a database number. */
export const redisUrl = (texts: Texts): UrlSetting =>
  serverUrl(
    {
      schemes: ['redis', 'rediss'],
      expects:
        'a URL that starts with redis:// or rediss://, without a path or with the number of a database as its path',
      findFault({ pathname, searchParams }) {
        // The client takes any other parameter for an option of its own; "tls=true" would leave a wrong one.
        if (![...searchParams.keys()].every((name) => ['db', 'family'].includes(name))) {
          return 'a URL with no parameters but db and family; rediss:// is TLS'
        }
        // The Redis client reads the number from the path or from `db`.
        const numbers = [pathname.replace(/^\//, ''), searchParams.get('db') ?? '']
        return numbers.every((text) => /^\d{0,9}$/.test(text))
          ? null
          : 'a URL without a path, or with the number of a database as its path'
      },
    },
    texts,
  )
