/** The webhooks of the SnapTrade emulator by command: what each kind names of a person. */
import { chooseAccount, findPerson, type WebhookControls } from '../fault-controls.ts'
import type { People } from './people.ts'
import type { SnapTradeAccount, SnapTradePerson } from './shapes.ts'
import { accountKinds, connectionKinds, type SnapTradeWebhooks, userKinds } from './webhooks.ts'

export const listAccounts = (person: SnapTradePerson) =>
  person.connections.flatMap(({ accounts }) => accounts)
export const nameOf = ({ name, number }: SnapTradeAccount) => name ?? number
export const namesOf = (account: SnapTradeAccount) => [nameOf(account), account.number, account.id]

/** The connection that holds the account. */
export function holderOf(person: SnapTradePerson, account: SnapTradeAccount) {
  return person.connections.filter(({ accounts }) => accounts.includes(account))
}

export function makeWebhookControls(people: People, webhooks: SnapTradeWebhooks): WebhookControls {
  return {
    kinds: [...connectionKinds, ...accountKinds, ...userKinds],
    fire(name, { kind, account: wanted }, manner) {
      const person = findPerson(people, name)
      const { userId } = person
      if (userKinds.some((known) => known === kind)) return webhooks.send(kind, { userId }, manner)
      const isOfAccount = accountKinds.some((known) => known === kind)
      if (!isOfAccount && wanted === null) {
        return person.connections.flatMap((connection) =>
          webhooks.send(kind, { userId, connection }, manner),
        )
      }
      const account = chooseAccount(listAccounts(person), wanted, namesOf)
      return holderOf(person, account).flatMap((connection) =>
        webhooks.send(kind, { userId, connection, ...(isOfAccount ? { account } : {}) }, manner),
      )
    },
    rotateKey: null,
  }
}
