/** Proves that the list of values to redact contains every configured secret. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { Secret } from '#kernel/secret.ts'
import { readConfig } from '#src/config.ts'
import { makeLog } from '#telemetry/log.ts'
import { listSecretTexts } from './secret-texts.ts'
import { settings } from './settings.ts'

const key = Buffer.alloc(32, 0xab)
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

/** A value for every variable that is secret. */
const values: Record<string, string> = {
  DATABASE_URL: 'postgres://user:db%20canary@db/x',
  REDIS_URL: 'redis://:redis-canary@limits',
  REDIS_CACHE_URL: 'redis://:answers-canary@cache',
  AKAHU_APP_TOKEN: 'app_token_canary',
  SMTP_URL: 'smtps://user:100%25canary@mail',
  FISKIL_WEBHOOK_SECRET: 'canarycanarycanarycanary',
  ENCRYPTION_KEY: key.toString('base64'),
  OTEL_EXPORTER_OTLP_HEADERS: 'x-key=collector%20canary',
  ENABLEBANKING_PRIVATE_KEY: Buffer.from(privateKey).toString('base64'),
}

test('a password beside a socket, and one in a parameter, is removed from the log too', () => {
  const urls = ['postgresql://u:canary@/x?host=/run/pg', 'postgresql:///x?user=u&password=canary']
  for (const DATABASE_URL of urls) {
    const config = readConfig({ DATABASE_URL, ENCRYPTION_KEY: key.toString('base64') })
    const secrets = {
      adminToken: new Secret('token'),
      encryptionKeys: new Secret([]),
      adminTokenFile: null,
      encryptionKeysIn: 'ENCRYPTION_KEY',
      warnings: [],
    }
    assert.ok(listSecretTexts(config, secrets).includes('canary'), DATABASE_URL)
  }
})

test('no secret of the configuration reaches the log, whatever line it is in', () => {
  const environment: Record<string, string> = {
    FISKIL_CLIENT_ID: 'public-1',
    SNAPTRADE_CLIENT_ID: 'public-2',
    ENABLEBANKING_APPLICATION_ID: 'public-3',
  }
  for (const [name, setting] of settings) {
    if (setting.isSecret) environment[name] = values[name] ?? `${name.toLowerCase()}-canary`
  }
  const config = readConfig(environment)
  const texts = listSecretTexts(config, {
    adminToken: config.adminToken ?? new Secret(''),
    encryptionKeys: config.encryptionKeys ?? new Secret([]),
    adminTokenFile: null,
    encryptionKeysIn: 'ENCRYPTION_KEY',
    warnings: [],
  })
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = makeLog({ level: 'info', secrets: texts, destination })
  for (const value of Object.values(environment))
    log.info(`plain ${value.replace(/^.*:(.*)@.*$/, '$1')}.`)
  log.info({ hex: key.toString('hex'), decoded: 'db canary' })
  assert.doesNotMatch(lines.join(''), /canary|abababab/)
  assert.ok(!lines.join('').includes(key.toString('base64')))
  assert.match(lines.join(''), /public-1/)
  for (const line of privateKey.split('\n').filter((one) => one.length > 20)) {
    log.info(`a part of a key: ${line}`)
    log.info(privateKey)
    assert.ok(line.startsWith('-----') || !lines.join('').includes(line))
  }
})
