/**
 * Linking in the port to a provider: how a person gives their consent in a browser. The provider's own page
 * does it; the adapter says where that page is, and reads what the browser brings back. What comes back is
 * not trusted: the consents themselves are read afterwards (`discover`).
 */
import type { UserId } from '#kernel/ids.ts'
import type { Identity } from './credentials.ts'
import type { CallContext, ConnectionRef, Login } from './login.ts'

/** An institution that a person can choose. */
export interface Institution {
  readonly id: string
  readonly name: string
  /** As the provider reports it; null: it does not. */
  readonly health: 'healthy' | 'degraded' | 'outage' | null
  /** False: the provider takes no new links to it now. */
  readonly isOpen: boolean
}

/** Whom a provider is told about. Ids of ours are random and mean nothing elsewhere. */
export interface LinkingUser {
  readonly userId: UserId
  readonly email: string
  readonly name: string | null
}

export interface LinkingRequest {
  readonly user: LinkingUser
  /** The person's login at the provider; null where `register` is absent and there is none yet. */
  readonly login: Login | null
  /** Null: the provider's page asks. */
  readonly institutionId: string | null
  /** The connection whose consent is renewed; null: a new consent. */
  readonly renews: ConnectionRef | null
  /** Our state: visible ASCII, single-use, to be found again by `Linking.stateIn`. */
  readonly state: string
  /** Where the browser returns: our callback, with the state where `stateIn` puts it. */
  readonly returnUrl: string
}

/** Why a person came back without a consent. */
export const linkingFailures = [
  /** They left the provider's page, or declined. */
  'cancelled',
  /** The page was open for too long, or was used before. */
  'expired',
  /** The institution refused the sign-in or the second factor. */
  'sign_in_refused',
  /** The institution does not share these accounts. */
  'ineligible',
  /** The provider does not accept the key that they pasted, or shares nothing with it. */
  'key_refused',
  /** A renewal with another account than before. */
  'different_account',
  /** The person would have more connections or accounts than one may have here. */
  'too_many',
  /** The institution or the provider failed; it may work later. */
  'unavailable',
  /** The process that read the return has ended, and what it had read is not known. */
  'interrupted',
  /** The provider refuses our application; only the operator can fix it. */
  'misconfigured',
] as const
export type LinkingFailure = (typeof linkingFailures)[number]

export type LinkingReturn =
  /** The person agreed, as far as the provider says. The identity is the login's, with its newest secret. */
  | { readonly kind: 'agreed'; readonly identity: Identity }
  | {
      readonly kind: 'failed'
      readonly reason: LinkingFailure
      /** The provider's own code, for the log; never text that may hold a secret. */
      readonly code: string | null
    }

export interface ReturnRequest {
  readonly login: Login | null
  /** The query of the return, without our state. */
  readonly query: URLSearchParams
  /** As it was given to `begin`. */
  readonly returnUrl: string
  readonly renews: ConnectionRef | null
  /** What `begin` was asked with, so that a return of another link is noticed; absent: not known. */
  readonly begun?: Pick<LinkingRequest, 'state' | 'institutionId'> & { readonly userId: UserId }
  /** The person's logins at the provider, one of which the return may renew; absent: none. */
  readonly known?: readonly Login[]
  /**
   * Stores what the return opened before it is used for anything else (reading R38): the secret with which
   * `endLogin` ends it. It is ended unless the return is agreed to. Absent: it is stored nowhere.
   */
  readonly keep?: (secret: string) => Promise<void>
}

/** Where there are institutions of many countries, people choose the country first. */
export interface InstitutionsByCountry {
  /**
   * ISO 3166-1 alpha-2, sorted.
   * @param login the person's own login that is asked with; null: this installation's credentials are.
   */
  countries(login: Login | null, call: CallContext): Promise<readonly string[]>
  /** Sorted by name. @param country one of `countries`. */
  list(login: Login | null, country: string, call: CallContext): Promise<readonly Institution[]>
}

export interface Linking {
  /**
   * Where our state stands in the return address: `path` (a last segment), `query` (`?state=`), or
   * `parameter` (the provider brings back what `begin` passes as a parameter, and the return address is the
   * same for everybody).
   */
  readonly stateIn: 'path' | 'query' | 'parameter'
  /** Absent: the person chooses on the provider's page. Sorted by name. */
  institutions?(call: CallContext): Promise<readonly Institution[]>
  /** In place of `institutions`; `begin` refuses an institution that it does not list. */
  readonly byCountry?: InstitutionsByCountry
  /** This installation has no credentials of its own: a page is opened with a key that a person brought. */
  readonly needsLogin?: true
  /** Which of a person's logins a new consent is asked for with, where they have several. */
  isPreferred?(login: Login): boolean
  /**
   * Two secrets of one person may have the same consent, or be the same: what a link has opened is not ended
   * while another login of the person has a secret. Absent: each has a consent of its own.
   */
  readonly sharesConsent?: true
  /**
   * Makes the person's login at the provider. The result is stored before anything else happens; the call is
   * never repeated blindly, since it may make another login each time. Absent: the return brings the login.
   */
  register?(user: LinkingUser, call: CallContext): Promise<Identity>
  /**
   * False for a login by a key that a person brought: a consent of this installation cannot be added to it.
   * Absent: every login of the provider takes one.
   */
  accepts?(login: Login): boolean
  /**
   * Opens the provider's page for this person and returns its address, an absolute URL.
   * @throws UpstreamError `rejected` with status 404 for an institution that does not exist there.
   */
  begin(request: LinkingRequest, call: CallContext): Promise<{ readonly address: string }>
  /** Reads a return. @throws UpstreamError when the provider had to be asked and did not answer. */
  finish(request: ReturnRequest, call: CallContext): Promise<LinkingReturn>
  /**
   * The secret with which `endLogin` ends what a login had at the provider before a link replaced its secret,
   * where it was made through this installation; null: nothing of it remains. Absent: never anything does.
   */
  leftBy?(former: Login): string | null
}
