/**
 * The made-up world's securities, exchanges, currencies and brokerages. A table: names are real
 * enough to look at, ids are derived from them, so that they never change.
 */
import { hash } from 'node:crypto'
import type { OptionContract, Security } from './shapes.ts'

/** A UUID that depends on the text alone. */
export function makeUuid(text: string): string {
  const hex = hash('sha256', text, 'hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

function security(
  kind: Security['kind'],
  [symbol, name]: readonly [symbol: string, name: string | null],
  market: { currency: string; exchange: string | null },
  priceCents: number,
): Security {
  const rawSymbol = symbol.replace(/\.[A-Z]+$/, '')
  const id = makeUuid(`security:${symbol}`)
  return { id, kind, symbol, rawSymbol, name, ...market, priceCents }
}

const asx = { currency: 'AUD', exchange: 'ASX' }
const nzx = { currency: 'NZD', exchange: 'NZX' }
const nasdaq = { currency: 'USD', exchange: 'NASDAQ' }
const nyse = { currency: 'USD', exchange: 'NYSE' }
const tokyo = { currency: 'JPY', exchange: 'TSE' }
const kuwait = { currency: 'KWD', exchange: 'KSE' }
const coins = { currency: 'USD', exchange: null }

export const securities = {
  bhp: security('stock', ['BHP.AX', 'BHP Group Limited'], asx, 4215),
  cba: security('stock', ['CBA.AX', 'Commonwealth Bank of Australia'], asx, 15190),
  csl: security('stock', ['CSL.AX', 'CSL Limited'], asx, 28110),
  vas: security('etf', ['VAS.AX', 'Vanguard Australian Shares Index ETF'], asx, 10344),
  vgs: security('etf', ['VGS.AX', 'Vanguard MSCI Index International Shares ETF'], asx, 14277),
  afi: security('cef', ['AFI.AX', 'Australian Foundation Investment Company'], asx, 728),
  air: security('stock', ['AIR.NZ', 'Air New Zealand Limited'], nzx, 61),
  fph: security('stock', ['FPH.NZ', 'Fisher & Paykel Healthcare'], nzx, 3605),
  aapl: security('stock', ['AAPL', 'Apple Inc.'], nasdaq, 23145),
  msft: security('stock', ['MSFT', 'Microsoft Corporation'], nasdaq, 41790),
  spy: security('etf', ['SPY', 'SPDR S&P 500 ETF Trust'], nyse, 58820),
  baba: security('adr', ['BABA', 'Alibaba Group Holding Ltd ADR'], nyse, 8912),
  vmfxx: security('mutualfund', ['VMFXX', 'Vanguard Federal Money Market Fund'], nyse, 100),
  toyota: security('stock', ['7203.T', 'Toyota Motor Corporation'], tokyo, 261_500),
  nbk: security('stock', ['NBK.KW', 'National Bank of Kuwait'], kuwait, 103),
  warrant: security('other', ['GXYWT', null], nasdaq, 41),
  btc: security('crypto', ['BTC', 'Bitcoin'], coins, 9_123_456),
  eth: security('crypto', ['ETH', 'Ethereum'], coins, 312_233),
  usdt: security('crypto', ['USDT', 'Tether'], coins, 100),
} as const

function option(
  underlying: Security,
  expiration: string,
  optionType: 'CALL' | 'PUT',
  strike: number,
): OptionContract {
  const day = expiration.slice(2).replaceAll('-', '')
  const price = String(strike * 1000).padStart(8, '0')
  const ticker = `${underlying.rawSymbol.padEnd(6)}${day}${optionType[0]}${price}`
  const description = `${underlying.rawSymbol} ${expiration} ${strike} ${optionType}`
  const id = makeUuid(`option:${ticker}`)
  return { id, ticker, optionType, strike: String(strike), expiration, underlying, description }
}

export const options = {
  aaplCall: option(securities.aapl, '2027-12-17', 'CALL', 240),
  spyPut: option(securities.spy, '2027-06-18', 'PUT', 500),
} as const

export interface ExchangeInfo {
  readonly code: string
  readonly mic: string
  readonly name: string
  readonly timezone: string
  readonly opens: string
  readonly closes: string
  readonly suffix: string | null
}

const exchange = (
  [code, mic, name]: readonly [string, string, string],
  [timezone, opens, closes]: readonly [string, string, string],
  suffix: string | null,
): ExchangeInfo => ({ code, mic, name, timezone, opens, closes, suffix })

export const exchanges: Readonly<Record<string, ExchangeInfo>> = {
  ASX: exchange(
    ['ASX', 'XASX', 'Australian Securities Exchange'],
    ['Australia/Sydney', '10:00:00', '16:00:00'],
    '.AX',
  ),
  NZX: exchange(
    ['NZX', 'XNZE', 'New Zealand Exchange'],
    ['Pacific/Auckland', '10:00:00', '16:45:00'],
    '.NZ',
  ),
  NASDAQ: exchange(
    ['NASDAQ', 'XNAS', 'NASDAQ'],
    ['America/New_York', '09:30:00', '16:00:00'],
    null,
  ),
  NYSE: exchange(
    ['NYSE', 'XNYS', 'New York Stock Exchange'],
    ['America/New_York', '09:30:00', '16:00:00'],
    null,
  ),
  TSE: exchange(
    ['TSE', 'XTKS', 'Tokyo Stock Exchange'],
    ['Asia/Tokyo', '09:00:00', '15:30:00'],
    '.T',
  ),
  KSE: exchange(['KSE', 'XKUW', 'Boursa Kuwait'], ['Asia/Kuwait', '09:00:00', '12:45:00'], '.KW'),
}

export const currencyNames: Readonly<Record<string, string>> = {
  AUD: 'Australian Dollar',
  NZD: 'New Zealand Dollar',
  USD: 'US Dollar',
  JPY: 'Japanese Yen',
  KWD: 'Kuwaiti Dinar',
}

export interface BrokerageInfo {
  readonly slug: string
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly squareLogo: boolean
  /** In maintenance it takes no new connections. */
  readonly state: 'up' | 'degraded' | 'maintenance'
  readonly kind: 'Traditional Brokerage' | 'Cryptocurrency Exchange'
}

/** Slug to brokerage. The logos stand on a reserved domain: nothing is ever fetched from it. */
export const brokerages: Readonly<Record<string, BrokerageInfo>> = Object.fromEntries(
  (
    [
      ['INTERACTIVE-BROKERS-FLEX', 'Interactive Brokers', 'Interactive Brokers', true],
      ['STAKEAUS', 'Stake Australia', 'Stake', true],
      ['QUESTRADE', 'Questrade', 'Questrade', false],
      ['COINBASE', 'Coinbase', 'Coinbase', true],
      ['WEALTHWOOD', 'Wealthwood', 'Wealthwood', false, 'degraded'],
      ['OLDFIELD', 'Oldfield Brokers', 'Oldfield', false, 'maintenance'],
      ['SANDBOX', 'SnapTrade Sandbox', 'SnapTrade Sandbox', false],
    ] as const
  ).map(([slug, name, displayName, squareLogo, state = 'up' as const]) => [
    slug,
    {
      state,
      slug,
      name,
      displayName,
      squareLogo,
      description: `${name}, as the sandbox imagines it.`,
      kind: slug === 'COINBASE' ? 'Cryptocurrency Exchange' : 'Traditional Brokerage',
    },
  ]),
)
