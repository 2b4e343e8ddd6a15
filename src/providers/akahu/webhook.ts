/**
 * Akahu's webhooks (docs/providers/akahu.md, Webhooks): verifies the signature, then translates the event
 * into notices. The body about a deleted token contains the token itself, so no part of a body is ever put
 * into an error or a log.
 */
import { verify } from 'node:crypto'
import { upstreamId } from '#kernel/ids.ts'
import { Secret } from '#kernel/secret.ts'
import type {
  KnownLogins,
  WebhookChange,
  WebhookNotice,
  WebhookReceiver,
  WebhookRequest,
} from '../port.ts'
import {
  digestOf,
  readShortText,
  readWebhookFields,
  readWebhookText,
  type WebhookFields,
} from '../webhook-body.ts'
import type { SigningKeys } from './signing-keys.ts'

export interface AkahuWebhookOptions {
  readonly keys: SigningKeys
  /** Receives what is outside the known lists. */
  readonly odd: (what: string) => void
}

/**
 * Webhooks have neither a time nor an id, so a repetition is recognised by its body. A login that breaks and
 * one that works again are reported by the same body: only a webhook that follows within seconds is certainly
 * a repetition.
 */
const keyLifeMs = 10_000

const idPattern = /^(?:0|[1-9]\d{0,8})$/
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/

/** Subscriptions of an older kind, which are never made here. */
const ignored: ReadonlySet<string> = new Set(['TRANSFER', 'PAYMENT', 'INCOME'])

export function makeAkahuWebhooks(options: AkahuWebhookOptions): Pick<WebhookReceiver, 'receive'> {
  return {
    async receive(request, logins) {
      const verdict = await judge(options.keys, request, logins)
      if (verdict !== 'signed') return { kind: 'refused', reason: verdict }
      const text = readWebhookText(request.body)
      const fields = text === null ? null : readWebhookFields(text)
      if (fields === null) return { kind: 'refused', reason: 'unreadable' }
      return {
        kind: 'accepted',
        key: digestOf(request.body),
        keyLifeMs,
        notices: toNotices(options, fields),
      }
    },
  }
}

async function judge(
  keys: SigningKeys,
  { header, body }: WebhookRequest,
  logins: KnownLogins | undefined,
): Promise<'signed' | 'unsigned' | 'forged'> {
  const signature = header('x-akahu-signature')
  const id = header('x-akahu-signing-key')
  if (signature === undefined || id === undefined) return 'unsigned'
  const bytes = Buffer.from(signature, 'base64')
  // Base64 that does not encode back to the same text is refused as a signature.
  const isCanonical = base64Pattern.test(signature) && bytes.toString('base64') === signature
  if (!idPattern.test(id) || !isCanonical) return 'forged'
  const key = await keys.find(Number(id), () => findLogin(body, logins))
  if (key === null || !verify('sha256', body, key, bytes)) return 'forged'
  keys.confirm(Number(id))
  return 'signed'
}

/** Nobody but Akahu and us knows a reference. */
async function findLogin(
  body: Uint8Array,
  logins: KnownLogins | undefined,
): Promise<string | null> {
  const text = readWebhookText(body)
  const reference = text === null ? null : readShortText(readWebhookFields(text)?.state)
  if (reference === null || logins === undefined) return null
  return (await logins.has(reference)) ? reference : null
}

function toNotices({ odd }: AkahuWebhookOptions, fields: WebhookFields): readonly WebhookNotice[] {
  const changes = toChanges(fields)
  if (changes === null) {
    odd('unknown webhook')
    return []
  }
  if (changes.length === 0) return []
  const reference = readShortText(fields.state)
  if (reference === null) {
    odd('webhook without a person')
    return []
  }
  const item = fields.webhook_type === 'TOKEN' ? null : readShortText(fields.item_id)
  return changes.map((change) => ({
    login: { reference },
    connection: null,
    institutionId: null,
    account: item === null ? null : upstreamId(item),
    refreshedAt: null,
    change,
  }))
}

/** Empty for events about data that we do not serve; null for unknown events. */
function toChanges(fields: WebhookFields): readonly WebhookChange[] | null {
  const { webhook_type: type, webhook_code: code } = fields
  if (typeof type === 'string' && ignored.has(type)) return []
  if (code === 'WEBHOOK_CANCELLED') return [{ kind: 'cancelled' }]
  switch (`${type} ${code}`) {
    case 'TOKEN DELETE': {
      const token = fields.item_id
      if (typeof token !== 'string' || token === '') return null
      return [{ kind: 'secret_revoked', secret: new Secret(token) }]
    }
    case 'ACCOUNT CREATE':
    case 'ACCOUNT DELETE':
    // The list of accounts names the former id of a moved one. Until then the account still has it.
    case 'ACCOUNT MIGRATE':
      return [{ kind: 'accounts' }]
    case 'ACCOUNT UPDATE':
      return toUpdates(fields.updated_fields)
    case 'TRANSACTION INITIAL_UPDATE':
    case 'TRANSACTION DEFAULT_UPDATE':
    case 'TRANSACTION DELETE':
      return [{ kind: 'rows' }]
    default:
      return null
  }
}

/** An update may concern several fields; anything but a balance or a status is read with the accounts. */
function toUpdates(fields: unknown): readonly WebhookChange[] {
  const names: readonly unknown[] = Array.isArray(fields) ? fields : []
  const isBalance = (name: unknown) => name === 'balance'
  const changes: WebhookChange[] = names.some(isBalance) ? [{ kind: 'balances' }] : []
  if (names.includes('status')) changes.push({ kind: 'consent' })
  else if (!names.every(isBalance) || names.length === 0) changes.push({ kind: 'accounts' })
  return changes
}
