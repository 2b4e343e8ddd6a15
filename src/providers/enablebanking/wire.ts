/**
 * Shapes of Enable Banking's answers (docs/providers/enable-banking.md). What is absent comes as null or not
 * at all. Amounts are text and stay text. Pure.
 */
import { z } from 'zod'
import { makeNumberQuoter } from '#kernel/json.ts'
import { malformed } from './failures.ts'

const text = z.string()
const optionalText = z.string().nullish()
const day = z.iso.date()

export const Aspsp = z.object({
  name: z.string().min(1).max(300),
  country: z.string().regex(/^[A-Z]{2}$/),
  logo: optionalText,
  /** Seconds. */
  maximum_consent_validity: z.number().int().positive().nullish(),
  required_psu_headers: z.array(text).nullish(),
})
export type WireAspsp = z.output<typeof Aspsp>
/** A single entry that cannot be read must not hide the other banks. */
export const AspspsBody = z.object({ aspsps: z.array(z.unknown()).max(20_000) })

export const ApplicationBody = z.object({
  name: optionalText,
  kid: optionalText,
  environment: optionalText,
  active: z.boolean().nullish(),
  countries: z.array(z.string().regex(/^[A-Z]{2}$/)).nullish(),
  redirect_urls: z.array(text).nullish(),
})

export const AuthBody = z.object({ url: text, psu_id_hash: optionalText })

const Bank = z.object({ name: z.string().min(1), country: z.string().regex(/^[A-Z]{2}$/) })
const Id = z.object({ identification: text, scheme_name: optionalText })

export const WireAccount = z.object({
  uid: optionalText,
  identification_hash: z.string().min(1).max(4096),
  identification_hashes: z.array(z.string().max(4096)).nullish(),
  account_id: z.object({ iban: optionalText, other: Id.nullish() }).nullish(),
  all_account_ids: z.array(Id).nullish(),
  name: optionalText,
  details: optionalText,
  product: optionalText,
  cash_account_type: optionalText,
  currency: optionalText,
})
export type WireAccount = z.output<typeof WireAccount>
/** What is asked of one account: its session says already which it is. */
export const DetailsBody = WireAccount.omit({
  uid: true,
  identification_hash: true,
  identification_hashes: true,
})

/** Accounts of one session: people have a few at a bank, and each may be a call. */
const mostAccounts = 500

export const NewSessionBody = z.object({
  session_id: z.string().min(1).max(200),
  accounts: z.array(WireAccount).max(mostAccounts),
  aspsp: Bank,
  psu_type: optionalText,
  access: z.object({ valid_until: optionalText }).nullish(),
})
export type NewSession = z.output<typeof NewSessionBody>

export const SessionBody = z.object({
  status: text,
  accounts: z.array(text).max(mostAccounts).nullish(),
  accounts_data: z
    .array(
      z.object({
        uid: optionalText,
        identification_hash: z.string().min(1).max(4096),
        identification_hashes: z.array(z.string().max(4096)).nullish(),
      }),
    )
    .max(mostAccounts)
    .nullish(),
  aspsp: Bank,
  psu_type: optionalText,
  /** A hash of the `psu_id` that the authorisation was asked with. */
  psu_id_hash: optionalText,
  access: z.object({ valid_until: optionalText }).nullish(),
  authorized: optionalText,
})
export type Session = z.output<typeof SessionBody>

export const Balance = z.object({
  balance_amount: z.object({ currency: text, amount: text }),
  balance_type: text,
  reference_date: optionalText,
})
export type WireBalance = z.output<typeof Balance>
export const BalancesBody = z.object({ balances: z.array(Balance) })

const Party = z
  .object({
    name: optionalText,
    postal_address: z.object({ address_line: z.array(text).nullish() }).nullish(),
  })
  .nullish()
const PartyAccount = z.object({ iban: optionalText, other: Id.partial().nullish() }).nullish()

export const Row = z.object({
  transaction_amount: z.object({ currency: text, amount: text }),
  credit_debit_indicator: z.enum(['CRDT', 'DBIT']),
  status: text,
  entry_reference: optionalText,
  booking_date: day.nullish(),
  value_date: day.nullish(),
  transaction_date: day.nullish(),
  creditor: Party,
  debtor: Party,
  creditor_account: PartyAccount,
  debtor_account: PartyAccount,
  bank_transaction_code: z
    .object({ description: optionalText, code: optionalText, sub_code: optionalText })
    .nullish(),
  merchant_category_code: optionalText,
  balance_after_transaction: z.object({ currency: optionalText, amount: text }).nullish(),
  reference_number: optionalText,
  remittance_information: z.array(text).nullish(),
  note: optionalText,
})
export type WireRow = z.output<typeof Row>

export const RowsBody = z.object({
  transactions: z.array(z.unknown()),
  continuation_key: optionalText,
})

const parse = makeNumberQuoter(['amount'])

/** @throws UpstreamError `malformed` (reading R23). */
export function readBody<Shape extends z.ZodType>(shape: Shape, body: Uint8Array) {
  let read: unknown
  try {
    read = parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
  } catch (cause) {
    throw malformed('the answer is not JSON', cause)
  }
  const parsed = shape.safeParse(read)
  if (parsed.success) return parsed.data
  throw malformed('the answer has not the documented shape')
}
