/**
 * The webhooks of the Akahu emulator by command: what each kind names of a person. Only `ACCOUNT_MIGRATE`
 * makes happen what it reports, because it names an id that the account must have.
 */
import { chooseAccount, findPerson, type WebhookControls } from '../fault-controls.ts'
import type { SentWebhook, WebhookManner } from '../webhook-sender.ts'
import type { AkahuPeople } from './demo.ts'
import { institutions } from './factories.ts'
import { type AkahuAccount, type AkahuPerson, migrateAccount } from './people.ts'
import { type AkahuWebhooks, type HookFields, hookTypes } from './webhooks.ts'

const kinds = [
  'TOKEN_DELETE',
  'ACCOUNT_CREATE',
  'ACCOUNT_DELETE',
  'ACCOUNT_UPDATE',
  'ACCOUNT_MIGRATE',
  'TRANSACTION_INITIAL_UPDATE',
  'TRANSACTION_DEFAULT_UPDATE',
  'TRANSACTION_DELETE',
  'WEBHOOK_CANCELLED',
] as const

const namesOf = ({ name, _id }: AkahuAccount) => [name, _id]

export function makeWebhookControls(people: AkahuPeople, webhooks: AkahuWebhooks): WebhookControls {
  return {
    kinds,
    fire(name, { kind, account: wanted }, manner) {
      const person = findPerson(people, name)
      if (kind === 'WEBHOOK_CANCELLED') return cancel(webhooks, person, manner)
      const [type = '', ...rest] = kind.split('_')
      const fields =
        type === 'TOKEN'
          ? { item_id: person.userToken }
          : describe(kind, chooseAccount(person.accounts, wanted, namesOf))
      return webhooks.send(person, { type, code: rest.join('_'), fields }, manner)
    },
    rotateKey: () => webhooks.rotateKey(),
  }
}

/** Ends each webhook of the person, after a last event that says so. */
function cancel(
  webhooks: AkahuWebhooks,
  person: AkahuPerson,
  manner: WebhookManner,
): readonly SentWebhook[] {
  const told = hookTypes.flatMap((type) =>
    webhooks.send(person, { type, code: 'WEBHOOK_CANCELLED' }, manner),
  )
  webhooks.forget(person)
  return told
}

function describe(kind: string, account: AkahuAccount): HookFields {
  const ids = account.rows.slice(-1).map(({ _id }) => _id)
  switch (kind) {
    case 'ACCOUNT_UPDATE':
      return { item_id: account._id, updated_fields: ['balance', 'status'] }
    case 'ACCOUNT_MIGRATE': {
      if (account._migrated === undefined) migrateAccount(account, institutions.kiwibank)
      return { previous_item_id: account._migrated, new_item_id: account._id }
    }
    case 'TRANSACTION_INITIAL_UPDATE':
    case 'TRANSACTION_DEFAULT_UPDATE':
      return { item_id: account._id, new_transactions: ids.length, new_transaction_ids: ids }
    case 'TRANSACTION_DELETE':
      return { item_id: account._id, removed_transactions: ids }
    default:
      return { item_id: account._id }
  }
}
