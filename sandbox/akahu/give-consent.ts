/**
 * What a consent on the page of the Akahu emulator gives: accounts with rows of the last months at a bank
 * that is new to the person, a mended login at one that is not. Ids come from the person and the bank, so
 * that the same link after a restart has the same ones.
 */
import { addDays, type Clock } from '#kernel/time.ts'
import { account, institutions } from './factories.ts'
import {
  type AkahuAccount,
  type AkahuInstitution,
  type AkahuPerson,
  bringUpToDate,
  todayIn,
} from './people.ts'
import { creditCard, everyday, savings, wallet } from './recipes.ts'
import { digest, makeGrowth, type Recipe, type StampStyle } from './rows.ts'
import { type AkahuWebhooks, tellAccount } from './webhooks.ts'

export interface NewConsent {
  readonly person: AkahuPerson
  readonly bank: AkahuInstitution
  /**
   * A bank that is linked already gets a new login there, and accounts and rows with new ids, without the
   * former ones.
   */
  readonly hasNewIds: boolean
}

interface World {
  readonly seed: string
  readonly clock: Clock
  readonly webhooks: AkahuWebhooks
}

/** Adds the consent to the person. */
export function giveConsent({ person, bank, hasNewIds }: NewConsent, world: World): void {
  const { clock, webhooks } = world
  const own = person.accounts.filter(({ connection }) => connection._id === bank._id)
  if (own.length > 0 && !hasNewIds) {
    for (const one of own) one.status = 'ACTIVE'
    bringUpToDate(own, clock)
    for (const { _id } of own) {
      tellAccount(webhooks, person, 'UPDATE', { item_id: _id, updated_fields: ['status'] })
    }
    return
  }
  const fresh = own.length > 0 ? own.map((one) => renumber(one)) : makeAccounts(person, bank, world)
  bringUpToDate(fresh, clock)
  person.accounts = [...person.accounts.filter((one) => !own.includes(one)), ...fresh]
  for (const { _id } of own) tellAccount(webhooks, person, 'DELETE', { item_id: _id })
  for (const { _id } of fresh) tellAccount(webhooks, person, 'CREATE', { item_id: _id })
}

/**
 * The same account under a new login: another id for it and its rows, and nothing that leads to the former
 * ones.
 */
function renumber(former: AkahuAccount): AkahuAccount {
  const { _migrated: _former, _credentials, _authorisation, ...kept } = former
  return {
    ...kept,
    _id: `acc_${digest(`${former._id}|again`)}`,
    _authorisation: `auth_${digest(`${_authorisation ?? _credentials}|again`)}`,
    status: 'ACTIVE',
    rows: former.rows.map(({ _migrated, _migrated_account, ...row }) => ({
      ...row,
      _id: `trans_${digest(`${row._id}|again`)}`,
    })),
  }
}

interface Plan {
  readonly name: string
  readonly type: string
  readonly suffix: string
  readonly recipe: Recipe
  readonly openingCents: number
  readonly style?: StampStyle
}

const daily: readonly Plan[] = [
  { name: 'Everyday', type: 'CHECKING', suffix: '00', recipe: everyday, openingCents: 340_000 },
  { name: 'Rainy Day', type: 'SAVINGS', suffix: '01', recipe: savings, openingCents: 812_345 },
]
const card: Plan = {
  name: 'Platinum Card',
  type: 'CREDITCARD',
  suffix: '0194',
  recipe: creditCard,
  openingCents: -84_210,
  style: 'utc-midnight',
}
const fund: Plan = {
  name: 'Wallet',
  type: 'WALLET',
  suffix: '02',
  recipe: wallet,
  openingCents: 20_000,
  style: 'instant',
}

const plans: Readonly<Record<string, readonly Plan[]>> = {
  [institutions.asb._id]: [...daily, card],
  [institutions.amex._id]: [card],
  [institutions.sharesies._id]: [fund],
}
const days = 120

function makeAccounts(person: AkahuPerson, bank: AkahuInstitution, world: World): AkahuAccount[] {
  const of = person.user._id
  const since = addDays(todayIn(world.clock), -days)
  return (plans[bank._id] ?? daily).map((plan) => {
    const { name, type, recipe, openingCents, style = 'nz-midnight' } = plan
    const key = `${of}.${bank._id}.${plan.suffix}`
    return account(key, {
      connection: bank,
      name,
      type,
      formatted_account: numberOf(`${of}.${bank._id}`, plan),
      balance: { currency: 'NZD', current: '0' },
      growth: makeGrowth({ seed: world.seed, style, recipe, openingCents, since }),
    })
  })
}

/** The accounts of one person at one bank share a base number; a card has a number of its own. */
function numberOf(key: string, { type, suffix }: Plan): string {
  const base = Number.parseInt(digest(key).slice(2, 8), 16) % 1_000_000
  const digits = String(base).padStart(6, '0')
  return type === 'CREDITCARD' ? `****-****-****-${suffix}` : `38-9000-0${digits}-${suffix}`
}
