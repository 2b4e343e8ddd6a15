/** Exact arithmetic over the API's decimal text. Nothing here makes a float of an amount. */
import type { DecimalString } from './types.js';
/**
 * The exact sum, with as many decimals as the longest of them. Never sum over several currencies.
 * @param {Iterable<string>} amounts
 */
export declare function sum(amounts: Iterable<string>): DecimalString;
/**
 * Negative, zero or positive, for `Array.sort`.
 * @param {string} one
 * @param {string} other
 * @returns {-1 | 0 | 1}
 */
export declare function compare(one: string, other: string): -1 | 0 | 1;
/**
 * The amount in the currency's smallest unit, as events have it: `-655.00` AUD is -65500n.
 * @param {string} amount
 * @param {string} currency An ISO 4217 code.
 * @throws {RangeError} For digits beyond the smallest unit.
 */
export declare function toMinorUnits(amount: string, currency: string): bigint;
