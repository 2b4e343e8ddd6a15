/**
 * One request to the API: a deadline for the whole call, retries that obey `Retry-After`, and one class for each kind of
 * failure. It knows no operations. No message of an error holds the key.
 */
import type { ErrorCode } from './types.js';
export type CallOptions = {
    /**
     * Ends the call with an AbortedError.
     */
    signal?: AbortSignal;
    /**
     * Milliseconds for the whole call, retries included.
     */
    timeout?: number;
    /**
     * How often a request is sent again.
     */
    maxRetries?: number;
};
export type ResponseInfo = {
    /**
     * The answer; its body was read.
     */
    response: Response;
    /**
     * The id under which the operator's log has the request.
     */
    requestId: string | null;
    /**
     * `reset`: epoch seconds.
     */
    rateLimit: {
        limit: number | null;
        remaining: number | null;
        reset: number | null;
    };
    /**
     * Where the answer came from.
     */
    cache: 'HIT' | 'MISS' | 'BYPASS' | (string & {}) | null;
    /**
     * True when the server stopped reading before the end: `hasMore` is true then.
     */
    truncated: boolean;
    /**
     * Set when this use of the API will end.
     */
    deprecation: {
        sunset: string | null;
        link: string | null;
    } | null;
};
/** @import { ErrorCode } from './types.js' */
/**
 * What a call may set.
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal] Ends the call with an AbortedError.
 * @property {number} [timeout] Milliseconds for the whole call, retries included.
 * @property {number} [maxRetries] How often a request is sent again.
 */
/**
 * What an answer says beside its body.
 * @typedef {object} ResponseInfo
 * @property {Response} response The answer; its body was read.
 * @property {string | null} requestId The id under which the operator's log has the request.
 * @property {{ limit: number | null, remaining: number | null, reset: number | null }} rateLimit `reset`: epoch seconds.
 * @property {'HIT' | 'MISS' | 'BYPASS' | (string & {}) | null} cache Where the answer came from.
 * @property {boolean} truncated True when the server stopped reading before the end: `hasMore` is true then.
 * @property {{ sunset: string | null, link: string | null } | null} deprecation Set when this use of the API will end.
 */
/** The base of all errors of this package. */
export declare class TributaryError extends Error {
    /** True when the same call may succeed later. */
    get isRetryable(): boolean;
}
/** The server could not be reached, or the connection broke. */
export declare class ConnectionError extends TributaryError {
    /** @override */
    get isRetryable(): boolean;
}
/** The call took longer than its `timeout`, retries included. */
export declare class TimeoutError extends TributaryError {
    /** @override */
    get isRetryable(): boolean;
}
/** The caller's own signal ended the call. */
export declare class AbortedError extends TributaryError {
}
/** An answer that is no success. */
export declare class ApiError extends TributaryError {
    /** @type {number} */
    status: number;
    /** @type {ErrorCode | null} Branch on this. */
    code: ErrorCode | null;
    /** @type {readonly string[]} One line per problem. */
    details: readonly string[];
    /** @type {string | null} */
    requestId: string | null;
    /** @type {number | null} Seconds to wait before the next request. */
    retryAfter: number | null;
    /** @type {Headers} */
    headers: Headers;
    /**
     * @param {string} message
     * @param {{ status: number, code: string | null, details: readonly string[], headers: Headers }} answer
     */
    constructor(message: string, { status, code, details, headers }: {
        status: number;
        code: string | null;
        details: readonly string[];
        headers: Headers;
    });
    /** @override */
    get isRetryable(): boolean;
}
/** 400: a parameter is wrong, or the institution refuses. */
export declare class InvalidRequest extends ApiError {
}
/** 401: there is no valid key. */
export declare class Unauthorized extends ApiError {
}
/** 403: the plan or the key does not include the call. */
export declare class Forbidden extends ApiError {
}
/** 404: it does not exist, or it is not the key's. */
export declare class NotFound extends ApiError {
}
/** 429: too many requests. */
export declare class RateLimited extends ApiError {
}
/** 503: the provider or the service is not available now. */
export declare class Unavailable extends ApiError {
}
/** 503: the rows changed while they were read. Drop the rows of this query, and begin again at offset 0. */
export declare class ListChanged extends Unavailable {
    /** @override The same page is refused again until offset 0 is asked. */
    get isRetryable(): boolean;
}
/** Any other 5xx. */
export declare class ServerError extends ApiError {
}
export type HttpOptions = {
    apiKey: string;
    /**
     * Without a slash at its end.
     */
    baseUrl: string;
    timeout: number;
    maxRetries: number;
    fetch: typeof globalThis.fetch;
    userAgent: string;
    onResponse: ((info: ResponseInfo) => void) | null;
};
export type Http = ReturnType<typeof makeHttp>;
/**
 * @typedef {object} HttpOptions
 * @property {string} apiKey
 * @property {string} baseUrl Without a slash at its end.
 * @property {number} timeout
 * @property {number} maxRetries
 * @property {typeof globalThis.fetch} fetch
 * @property {string} userAgent
 * @property {((info: ResponseInfo) => void) | null} onResponse
 */
/** @typedef {ReturnType<typeof makeHttp>} Http */
/** @param {HttpOptions} options */
export declare function makeHttp(options: HttpOptions): {
    get: <Body>(path: string, call?: CallOptions, prepare?: (text: string) => string) => Promise<{
        body: Body;
        info: ResponseInfo;
    }>;
    timeout: number;
};
