import type { Pagination } from './types.js';
import type { CallOptions, ResponseInfo } from './http.js';
/**
 * One answer of a list.
 * @template Row
 */
export declare class Page<Row> {
    #private;
    /** @type {readonly Row[]} */
    data: readonly Row[];
    /** @type {Pagination | null} Null for lists that have one page. */
    pagination: Pagination | null;
    /** @type {ResponseInfo} */
    info: ResponseInfo;
    /** @param {{ data: readonly Row[], pagination: Pagination | null, info: ResponseInfo, next: (() => Promise<Page<Row>>) | null }} given */
    constructor({ data, pagination, info, next }: {
        data: readonly Row[];
        pagination: Pagination | null;
        info: ResponseInfo;
        next: (() => Promise<Page<Row>>) | null;
    });
    /** True when the server stopped reading before the end; the pages after this one go on. */
    get truncated(): boolean;
    hasNextPage(): boolean;
    /** @throws {RangeError} After the last page: test `hasNextPage()`. */
    nextPage(): Promise<Page<Row>>;
}
/**
 * A list. Await it for its first page, or iterate over all rows of all pages.
 * @template Row
 * @implements {PromiseLike<Page<Row>>}
 */
export declare class Paged<Row> implements PromiseLike<Page<Row>> {
    #private;
    /**
     * @param {(call: CallOptions) => Promise<Page<Row>>} read
     * @param {CallOptions} call
     */
    constructor(read: (call: CallOptions) => Promise<Page<Row>>, call: CallOptions);
    /**
     * @template [Result=Page<Row>]
     * @template [Failure=never]
     * @param {((page: Page<Row>) => Result | PromiseLike<Result>) | null} [onPage]
     * @param {((error: unknown) => Failure | PromiseLike<Failure>) | null} [onError]
     * @returns {Promise<Result | Failure>}
     */
    then<Result = Page<Row>, Failure = never>(onPage?: ((page: Page<Row>) => Result | PromiseLike<Result>) | null, onError?: ((error: unknown) => Failure | PromiseLike<Failure>) | null): Promise<Result | Failure>;
    /**
     * @template Failure
     * @param {(error: unknown) => Failure | PromiseLike<Failure>} onError
     * @returns {Promise<Page<Row> | Failure>}
     */
    catch<Failure>(onError: (error: unknown) => Failure | PromiseLike<Failure>): Promise<Page<Row> | Failure>;
    /** @param {() => void} onEnd */
    finally(onEnd: () => void): Promise<Page<Row>>;
    /** The rows of the first page with what the answer's headers say. */
    withResponse(): Promise<{
        response: Response;
        requestId: string | null;
        rateLimit: {
            limit: number | null;
            remaining: number | null;
            reset: number | null;
        };
        cache: 'HIT' | 'MISS' | 'BYPASS' | (string & {}) | null;
        truncated: boolean;
        deprecation: {
            sunset: string | null;
            link: string | null;
        } | null;
        data: readonly Row[];
        pagination: Pagination | null;
    }>;
    /** @returns {AsyncGenerator<Page<Row>, void, void>} */
    pages(): AsyncGenerator<Page<Row>, void, void>;
    /** @returns {AsyncGenerator<Row, void, void>} */
    [Symbol.asyncIterator](): AsyncGenerator<Row, void, void>;
    /**
     * All rows, from the beginning again when the list changed while it was read.
     * @param {{ limit: number }} options How many rows you can hold.
     * @throws {RangeError} For more rows than `limit`: no list is cut short in silence.
     */
    toArray({ limit }: {
        limit: number;
    }): Promise<Row[]>;
}
