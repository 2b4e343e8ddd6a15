import { TributaryError } from './http.js';
import type { WebhookEvent } from './types.js';
/** @import { WebhookEvent } from './types.js' */
/** The request is not from the server that has the secret, or it is too old. */
export declare class WebhookError extends TributaryError {
    /** @type {'headers_missing' | 'too_old' | 'too_new' | 'no_match' | 'unreadable'} */
    reason: 'headers_missing' | 'too_old' | 'too_new' | 'no_match' | 'unreadable';
    /**
     * @param {WebhookError['reason']} reason
     * @param {string} message
     */
    constructor(reason: WebhookError['reason'], message: string);
}
export type GivenHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
/** @typedef {Headers | Readonly<Record<string, string | readonly string[] | undefined>>} GivenHeaders */
/**
 * The event, once its signature is right. Answer 401 to whatever throws, and handle each `webhook-id` once.
 * Amounts of transactions are text: whole numbers of the smallest unit, with every digit.
 * @param {string | Uint8Array} rawBody The bytes of the request, or their text.
 * @param {GivenHeaders} headers
 * @param {string | readonly string[]} secrets `whsec_…`; several while a secret is rotated.
 * @param {{ toleranceSeconds?: number, now?: number }} [options] `now`: milliseconds since the epoch.
 * @returns {Promise<WebhookEvent>}
 * @throws {WebhookError} With the reason. TypeError for a body that was parsed already.
 */
export declare function verify(rawBody: string | Uint8Array, headers: GivenHeaders, secrets: string | readonly string[], options?: {
    toleranceSeconds?: number;
    now?: number;
}): Promise<WebhookEvent>;
