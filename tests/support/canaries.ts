/**
 * Values that must never be stored in plain text, planted in everything that the healthy person's providers
 * send, and the search for them in any bytes, also as hex and as base64.
 */
import type { Sandbox } from '#sandbox/start.ts'

/** As providers send them, and amounts once more as events contain them. */
export const plantedData = [
  'KANARIEN-DESCRIPTION',
  'KANARIEN-MERCHANT',
  'KANARIEN-TRADE',
  'KANARIEN-SECURITY',
  'KNRSYMBOL',
  '77123456789.31',
  '88123456789.42',
  '8812345678942',
  '66123456789.53',
  '910348821777',
  '38-9000-0999999-77',
  'U6542138443',
] as const

/** Of those, what a user's own receivers get. */
export const toldData = [
  'KANARIEN-DESCRIPTION',
  'KANARIEN-MERCHANT',
  'KANARIEN-TRADE',
  'KANARIEN-SECURITY',
  'KNRSYMBOL',
  '8812345678942',
  '66123456789.53',
] as const

/** From now on every row, balance and account of the healthy person has them. */
export function plantCanaries(sandbox: Sandbox): void {
  const { fiskil, akahu, snaptrade, up, simplefin, enablebanking } = sandbox
  for (const account of enablebanking.people.healthy?.accounts ?? []) {
    account.opening = '77123456789.31'
    for (const row of account.rows) {
      Object.assign(row, { description: 'KANARIEN-DESCRIPTION', amount: '-88123456789.42' })
      row.payee = 'KANARIEN-MERCHANT'
    }
  }
  for (const { accounts } of simplefin.people.healthy?.connections ?? []) {
    for (const account of accounts) {
      account.opening = '77123456789.31'
      for (const row of account.rows) {
        Object.assign(row, { memo: 'KANARIEN-DESCRIPTION', amount: '-88123456789.42' })
      }
    }
  }
  for (const account of fiskil.people.healthy.consents.flatMap(({ accounts }) => accounts)) {
    account.body.account_number = '910348821777'
    if (account.balance !== null) account.balance.current_balance = '77123456789.31'
    for (const { body } of account.rows) {
      const merchant_name = 'KANARIEN-MERCHANT'
      Object.assign(body, {
        description: 'KANARIEN-DESCRIPTION',
        merchant_name,
        amount: '-88123456789.42',
      })
    }
  }
  for (const account of akahu.people.healthy.accounts) {
    account.formatted_account = '38-9000-0999999-77'
    if (account.balance !== null) account.balance.current = '77123456789.31'
    for (const row of account.rows)
      Object.assign(row, { description: 'KANARIEN-DESCRIPTION', amount: '-88123456789.42' })
  }
  for (const account of up.people.healthy?.accounts ?? []) {
    account.opening = '77123456789.31'
    for (const row of account.rows) {
      Object.assign(row, { rawText: 'KANARIEN-DESCRIPTION', amount: '-88123456789.42' })
    }
  }
  for (const account of snaptrade.people.healthy.connections.flatMap(({ accounts }) => accounts)) {
    account.number = 'U6542138443'
    for (const row of account.activities) {
      row.description = 'KANARIEN-TRADE'
      row.price = '66123456789.53'
      if (row.security === null) continue
      const names = { symbol: 'KNRSYMBOL', rawSymbol: 'KNRSYMBOL', name: 'KANARIEN-SECURITY' }
      row.security = { ...row.security, ...names }
    }
  }
}

export interface PlaceToSearch {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * What is found, as place and text. `texts`: at least six characters each, shorter ones would be found by
 * chance.
 */
export function findCanaries(
  places: readonly PlaceToSearch[],
  texts: readonly string[],
): readonly string[] {
  return places.flatMap(({ name, bytes }) => {
    const place = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return texts
      .filter((text) => formsOf(text).some((form) => place.includes(form)))
      .map((text) => `${text} in ${name}`)
  })
}

function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  const encoded = [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
    // The first and the last character depend on what stands beside the text.
    const inner = [Math.ceil((before * 4) / 3), Math.floor((whole.length * 4) / 3)] as const
    return whole.toString('base64').slice(...inner)
  })
  return [text, bytes.toString('hex'), ...encoded]
}

/** A secret of an endpoint as it is printed, as base64 alone, and its bytes as hex. */
export function formsOfSecret(secret: string): readonly string[] {
  const encoded = secret.slice('whsec_'.length)
  return [secret, encoded, Buffer.from(encoded, 'base64').toString('hex')]
}
