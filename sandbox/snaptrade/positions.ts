/**
 * Made-up positions, one of each kind that SnapTrade knows, with the parts that brokers leave
 * out: no price, no cost, no currency, short, fractional, the same instrument twice.
 */
import { makeUuid, options, securities } from './securities.ts'
import type { Position, Security } from './shapes.ts'

export type Numbers = readonly [units: string, price: string | null, costBasis: string | null]

/** So many units of a security, its price and its average cost. */
export function hold(
  security: Security,
  [units, price, costBasis]: Numbers,
  currency: string | null = security.currency,
): Position {
  return { instrument: { kind: 'security', security }, units, price, costBasis, currency }
}

/** A fresh list each time: callers change it. */
export function makePositions(): Position[] {
  return [
    hold(securities.aapl, ['10.5', '231.45', '118.2']),
    hold(securities.bhp, ['200', '42.15', '39.881234']),
    hold(securities.vas, ['150.25', '103.44', null]),
    hold(securities.spy, ['-20', '588.2', '601.75']),
    hold(securities.aapl, ['3', '231.45', '240.00']),
    hold(securities.afi, ['1000', null, '7.1'], null),
    hold(securities.baba, ['12', '89.12', '89.12']),
    hold(securities.warrant, ['500', null, null], null),
    hold(securities.btc, ['0.00012345', '91234.56', '40000.1']),
    {
      ...hold(securities.vmfxx, ['2514.33', '1', '1']),
      cashEquivalent: true,
      overrides: {
        tax_lots: [
          {
            original_purchase_date: '2025-01-15T10:30:00Z',
            quantity: '2514.33',
            purchased_price: '1.00',
            cost_basis: '2514.33',
            current_value: '2514.33',
            position_type: 'LONG',
            lot_id: '12345678',
          },
        ],
      },
    },
    {
      instrument: { kind: 'option', contract: options.aaplCall, multiplier: '100' },
      units: '2',
      price: '21.35',
      costBasis: '18.6',
      currency: null,
    },
    future('ESM27', '50'),
    future('MYSTERY27', null),
    {
      instrument: {
        kind: 'cfd',
        id: makeUuid('cfd:CBA.AX'),
        underlying: securities.cba,
      },
      units: '15',
      price: '151.9',
      costBasis: '149',
      currency: 'AUD',
    },
  ]
}

function future(symbol: string, multiplier: string | null): Position {
  return {
    instrument: {
      kind: 'future',
      id: makeUuid(`future:${symbol}`),
      symbol,
      root: symbol.slice(0, 2),
      code: symbol.slice(-3),
      expiration: multiplier === null ? null : '2027-06-18',
      multiplier,
      currency: 'USD',
      exchange: 'XCME',
    },
    units: '1',
    price: '5900.25',
    costBasis: '5811',
    currency: 'USD',
  }
}
