/**
 * Every secret of this process as text, for one purpose alone: the log takes these exact values out of its lines
 * (`makeLog`), whatever shape they come in. Nothing else may ask for them.
 */
import type { Secret } from '#kernel/secret.ts'
import type { Config } from '../config.ts'
import type { Secrets } from './secrets.ts'

/** The values that must never be printed: tokens, keys in their text forms, passwords inside URLs. */
export function listSecretTexts(config: Config, secrets: Secrets): readonly string[] {
  const { fiskil, akahu, snaptrade } = config.providers
  const texts = [
    secrets.adminToken,
    fiskil?.clientSecret,
    fiskil?.webhookSecret,
    akahu?.appToken,
    akahu?.appSecret,
    snaptrade?.consumerKey,
  ].map((secret) => secret?.reveal())
  const urls = [config.databaseUrl, config.redisUrl, config.smtpUrl].flatMap(passwordOf)
  const keys = secrets.encryptionKeys.reveal().flatMap((key) => {
    const bytes = Buffer.from(key)
    return [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]
  })
  return [...texts, ...urls, ...keys].filter((text) => text !== undefined && text !== null)
}

/** As it stands in the URL and as it is sent. */
function passwordOf(url: Secret<string> | null): string[] {
  const encoded = url === null ? '' : (URL.parse(url.reveal())?.password ?? '')
  if (encoded === '') return []
  try {
    return [encoded, decodeURIComponent(encoded)]
  } catch (error) {
    // A stray percent sign: then it is sent as it stands.
    if (error instanceof URIError) return [encoded]
    throw error
  }
}
