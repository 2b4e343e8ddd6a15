/**
 * Every secret of this process as text, for one purpose: the log removes these exact values from its lines
 * (`makeLog`), whatever their format. No other code may use it.
 */
import { listKeyTexts } from '#kernel/rsa-key.ts'
import { Secret } from '#kernel/secret.ts'
import { parseServerUrl } from '#kernel/server-url.ts'
import type { Config } from './compose.ts'
import type { Secrets } from './secrets.ts'

/** The values that must never be printed: tokens, keys in their text forms, passwords inside URLs. */
export function listSecretTexts(config: Config, secrets: Secrets): readonly string[] {
  const ofProviders = Object.values(config.providers)
    .flatMap((provider): unknown[] => Object.values(provider ?? {}))
    .filter((value) => value instanceof Secret)
  const texts = [secrets.adminToken, ...ofProviders].map((secret) => secret.reveal())
  const urls = [config.databaseUrl, config.redisUrl, config.redisCacheUrl, config.smtpUrl].flatMap(
    passwordOf,
  )
  const keys = secrets.encryptionKeys.reveal().flatMap((key) => {
    const bytes = Buffer.from(key)
    return [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]
  })
  const headers = Object.values(config.otlpHeaders?.reveal() ?? {}).flatMap((text) => {
    return [text, encodeURIComponent(text)]
  })
  const pems = texts.flatMap((text) => (text?.startsWith('-----BEGIN') ? listKeyTexts(text) : []))
  return [...texts, ...pems, ...urls, ...keys, ...headers].filter(
    (text) => text !== undefined && text !== null,
  )
}

/**
 * Both as written in the URL and decoded, as it is sent. PostgreSQL's driver reads it from a parameter too.
 */
function passwordOf(url: Secret<string> | null): string[] {
  const read = url === null ? null : parseServerUrl(url.reveal())?.url
  const texts = [read?.password ?? '', read?.searchParams.get('password') ?? '']
  return texts.filter((text) => text !== '').flatMap((text) => [text, ...decode(text)])
}

function decode(text: string): string[] {
  try {
    return [decodeURIComponent(text)]
  } catch (error) {
    // A stray percent sign cannot be decoded: the password is sent as written.
    if (error instanceof URIError) return []
    throw error
  }
}
