/**
 * From the emulator's state to the JSON that SnapTrade sends (`openapi/api.yaml`): positions as
 * decimal strings, activities as JSON number tokens with exactly the digits of the state. It
 * decides nothing.
 */
import { type BrokerageInfo, brokerages, currencyNames, exchanges, makeUuid } from './securities.ts'
import type {
  Activity,
  Instrument,
  OptionContract,
  Position,
  Security,
  SnapTradeAccount,
  SnapTradeConnection,
} from './shapes.ts'

// Raw JSON text (ECMAScript 2026) is not in the compiler's library yet.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** A decimal as a JSON number token; other text is sent as a string, since rawJSON refuses it. */
export function numberToken(text: string): unknown {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? rawJSON(text) : text
}

const optionalNumber = (text: string | null) => (text === null ? undefined : numberToken(text))
const nullableNumber = (text: string | null) => (text === null ? null : numberToken(text))

export function toBrokerage(slug: string): Record<string, unknown> {
  const info: BrokerageInfo | undefined = brokerages[slug]
  if (info === undefined) throw new Error(`no brokerage ${slug}`)
  const logo = `https://logos.example.com/${slug.toLowerCase()}`
  return {
    id: makeUuid(`brokerage:${slug}`),
    slug,
    name: info.name,
    display_name: info.displayName,
    description: info.description,
    aws_s3_logo_url: `${logo}.png`,
    aws_s3_square_logo_url: info.squareLogo ? `${logo}-square.png` : null,
    url: `https://${slug.toLowerCase()}.example.com`,
    enabled: true,
    maintenance_mode: info.state === 'maintenance',
    is_degraded: info.state === 'degraded',
    allows_trading: null,
    brokerage_type: { id: makeUuid(`brokerage-type:${info.kind}`), name: info.kind },
  }
}

export function toAuthorization(connection: SnapTradeConnection): Record<string, unknown> {
  return {
    id: connection.id,
    created_date: connection.createdDate,
    brokerage: toBrokerage(connection.brokerage),
    name: connection.name,
    type: connection.type,
    disabled: connection.disabled,
    disabled_date: connection.disabledDate,
    data_freshness_mode: connection.dataFreshness,
    meta: {},
    updated_date: connection.createdDate,
  }
}

export function toAccount(
  account: SnapTradeAccount,
  connection: SnapTradeConnection,
): Record<string, unknown> {
  const unavailable = account.holdingsUnavailable ? { holdings_unavailable: true } : {}
  return {
    id: account.id,
    brokerage_authorization: connection.id,
    name: account.name,
    number: account.number,
    institution_account_id: account.institutionAccountId,
    institution_name: brokerages[connection.brokerage]?.name,
    created_date: account.createdDate,
    funding_date: null,
    opening_date: null,
    sync_status: {
      transactions: {
        initial_sync_completed: account.transactionsSynced,
        last_successful_sync: account.transactionsSyncedTo,
        first_transaction_date: account.activities.at(-1)?.tradeDate?.slice(0, 10) ?? null,
      },
      holdings: {
        initial_sync_completed: account.holdingsSynced,
        last_successful_sync: account.holdingsSyncedAt,
        ...unavailable,
      },
    },
    balance: {
      total:
        account.total === null
          ? null
          : { amount: numberToken(account.total.amount), currency: account.total.currency },
    },
    status: account.status,
    raw_type: account.rawType,
    account_category: account.category,
    meta: {},
    cash_restrictions: [],
    is_paper: account.isPaper,
    ...account.overrides,
  }
}

export function toBalances(account: SnapTradeAccount): unknown[] {
  return account.balances.map((balance) => ({
    currency: toCurrency(balance.currency),
    cash: nullableNumber(balance.cash),
    buying_power: nullableNumber(balance.buyingPower),
  }))
}

function toCurrency(code: string): Record<string, unknown> {
  return { id: makeUuid(`currency:${code}`), code, name: currencyNames[code] ?? code }
}

function toExchange(key: string | null): Record<string, unknown> | undefined {
  const info = key === null ? undefined : exchanges[key]
  if (info === undefined) return undefined
  return {
    id: makeUuid(`exchange:${info.code}`),
    code: info.code,
    mic_code: info.mic,
    name: info.name,
    timezone: info.timezone,
    start_time: info.opens,
    close_time: info.closes,
    suffix: info.suffix,
  }
}

const typeCodes: Readonly<Record<Security['kind'], readonly [string, string]>> = {
  stock: ['cs', 'Common Stock'],
  etf: ['et', 'ETF'],
  adr: ['ad', 'ADR'],
  cef: ['cef', 'Closed End Fund'],
  mutualfund: ['oef', 'Open Ended Fund'],
  crypto: ['crypto', 'Cryptocurrency'],
  other: ['wt', 'Warrant'],
}

/** The `Symbol` object of activities; positions spell the same security differently. */
function toSymbol(security: Security): Record<string, unknown> {
  const [code, description] = typeCodes[security.kind]
  return {
    id: security.id,
    symbol: security.symbol,
    raw_symbol: security.rawSymbol,
    description: security.name,
    currency: toCurrency(security.currency),
    exchange: toExchange(security.exchange),
    type: { id: makeUuid(`type:${code}`), code, description, is_supported: true },
    figi_code: null,
    figi_instrument: null,
  }
}

function toOptionSymbol(contract: OptionContract): Record<string, unknown> {
  return {
    id: contract.id,
    ticker: contract.ticker,
    option_type: contract.optionType,
    strike_price: numberToken(contract.strike),
    expiration_date: contract.expiration,
    is_mini_option: false,
    underlying_symbol: toSymbol(contract.underlying),
  }
}

export function toActivity(row: Activity, institution: string): Record<string, unknown> {
  return {
    id: row.id,
    symbol: row.security === null ? null : toSymbol(row.security),
    currency_universal_symbol: row.quote === null ? null : toSymbol(row.quote),
    option_symbol: row.option === null ? null : toOptionSymbol(row.option),
    price: optionalNumber(row.price),
    units: optionalNumber(row.units),
    amount: nullableNumber(row.amount),
    currency: row.currency === null ? null : toCurrency(row.currency),
    type: row.type,
    option_type: row.optionAction ?? '',
    description: row.description,
    trade_date: row.tradeDate,
    settlement_date: row.settlementDate ?? undefined,
    fee: optionalNumber(row.fee),
    fx_rate: nullableNumber(row.fxRate),
    institution,
    external_reference_id: null,
    ...row.overrides,
  }
}

function toSecurityInstrument(security: Security): Record<string, unknown> {
  return {
    kind: security.kind,
    id: security.id,
    symbol: security.symbol,
    raw_symbol: security.rawSymbol,
    description: security.name,
    currency: security.currency,
    exchange: security.exchange === null ? null : exchanges[security.exchange]?.mic,
    figi_instrument: null,
  }
}

function toInstrument(instrument: Instrument): Record<string, unknown> {
  switch (instrument.kind) {
    case 'security':
      return toSecurityInstrument(instrument.security)
    case 'option':
      return {
        kind: 'option',
        id: instrument.contract.id,
        symbol: instrument.contract.ticker,
        option_type: instrument.contract.optionType,
        strike_price: instrument.contract.strike,
        expiration_date: instrument.contract.expiration,
        multiplier: instrument.multiplier,
        description: instrument.contract.description,
        underlying: toSecurityInstrument(instrument.contract.underlying),
      }
    case 'future':
      return {
        kind: 'future',
        id: instrument.id,
        symbol: instrument.symbol,
        root_symbol: instrument.root,
        expiration_code: instrument.code,
        expiration_date: instrument.expiration,
        multiplier: instrument.multiplier,
        currency: instrument.currency,
        exchange: instrument.exchange,
      }
    case 'cfd': {
      const { figi_instrument: _, ...own } = toSecurityInstrument(instrument.underlying)
      const underlying_instrument = toSecurityInstrument(instrument.underlying)
      return { ...own, kind: 'cfd', id: instrument.id, underlying_instrument }
    }
  }
}

export function toPosition(position: Position): Record<string, unknown> {
  return {
    instrument: toInstrument(position.instrument),
    units: position.units,
    price: position.price,
    cost_basis: position.costBasis,
    currency: position.currency,
    ...(position.cashEquivalent === undefined ? {} : { cash_equivalent: position.cashEquivalent }),
    ...position.overrides,
  }
}
