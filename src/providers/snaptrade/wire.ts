/**
 * SnapTrade's small bodies, as far as we read them. A field is required here only where we cannot do without
 * it, whatever the vendor's description requires. Balances of brokerage accounts are left out, since we do
 * not serve them. Pages of positions and activities are parsed elsewhere, to keep every digit of their
 * numbers.
 */
import { z } from 'zod'

/** Ids are used in paths, so no character that could leave the path segment is allowed. */
const id = z.string().regex(/^[\w-]{1,100}$/)
const text = z.string().nullish()
const flag = z.boolean().nullish()

export const WireBrokerage = z.object({
  id,
  slug: text,
  name: text,
  display_name: text,
  aws_s3_logo_url: text,
  aws_s3_square_logo_url: text,
})
export type WireBrokerage = z.infer<typeof WireBrokerage>

export const WireAuthorization = z.object({ id, brokerage: WireBrokerage, disabled: flag })
export type WireAuthorization = z.infer<typeof WireAuthorization>
export const WireAuthorizations = z.array(WireAuthorization).max(1_000)

/** What a key may do. Personal keys have no logo nor return address (docs/providers/snaptrade.md, Access). */
export const WirePartner = z.object({ slug: text, logo_url: text, redirect_uri: text })

const TransactionsStatus = z.object({ initial_sync_completed: flag }).nullish()
const HoldingsStatus = z
  .object({ initial_sync_completed: flag, last_successful_sync: text, holdings_unavailable: flag })
  .nullish()

export const WireAccount = z.object({
  id,
  brokerage_authorization: id,
  name: text,
  number: text,
  institution_account_id: text,
  institution_name: text,
  sync_status: z.object({ transactions: TransactionsStatus, holdings: HoldingsStatus }).nullish(),
  balance: z.object({ total: z.object({ currency: text }).nullish() }).nullish(),
  status: text,
  raw_type: text,
  account_category: text,
  is_paper: flag,
})
export type WireAccount = z.infer<typeof WireAccount>
export const WireAccounts = z.array(WireAccount).max(10_000)

export const WireBalances = z
  .array(z.object({ currency: z.object({ code: text }).nullish() }))
  .max(1_000)
export type WireBalances = z.infer<typeof WireBalances>

/** A brokerage to choose from. */
export const WireChoice = z.object({
  id,
  slug: z.string().regex(/^[\x21-\x7e]{1,100}$/),
  name: text,
  display_name: text,
  enabled: flag,
  maintenance_mode: flag,
  is_degraded: flag,
})
export type WireChoice = z.infer<typeof WireChoice>
/** Each is checked on its own: one that cannot be read is left out. */
export const WireChoices = z.array(z.unknown()).max(2_000)

/** Both are used in queries and bodies that are signed. */
const credential = z.string().regex(/^[\x21-\x7e]{1,512}$/)
export const WireRegistered = z.object({ userId: credential, userSecret: credential })

/** The other form, an encrypted answer, is for customers who asked for it. */
export const WirePortal = z.object({ redirectURI: z.string() })
