/** Credentials in the port: what links a person, whose they are, how this installation reaches a provider. */
import type { Provider } from '#contract/resources.ts'
import type { LoginId } from '#kernel/ids.ts'
import type { KnownFacts } from './all-facts.ts'
import type { CallContext, Login } from './login.ts'

/** What an operator provides to adopt a consent that exists at the provider. */
export type Credentials = { [Name in Provider]: CredentialsAt<Name> }[Provider]

/** The credentials for one provider, with the fields that its facts name. */
export type CredentialsAt<Name extends Provider> = { readonly provider: Name } & {
  readonly [Field in keyof LinkFieldsOf<Name> as IsOptional<LinkFieldsOf<Name>[Field]> extends true
    ? never
    : Field]: string
} & {
  readonly [Field in keyof LinkFieldsOf<Name> as IsOptional<LinkFieldsOf<Name>[Field]> extends true
    ? Field
    : never]?: string | undefined
}

type LinkFieldsOf<Name extends Provider> = KnownFacts[Name]['linkFields']
type IsOptional<Field> = Field extends { readonly isOptional: true } ? true : false

/** Whose credentials these are. */
export interface Identity {
  readonly upstreamUserId: string
  /** Stored sealed, and given back as the login's secret; its form is the adapter's own. */
  readonly secret: string | null
  /**
   * True for a key that a person obtained for themselves: it is linked to one user of this installation only,
   * and the consents behind it are not ended at the provider unless that was asked for.
   */
  readonly isPersonal: boolean
  /** The secret can be had only once: it is stored before anything else (reading R38). */
  readonly isClaimed?: true
  /** It has no consent yet: the person gives one on a page of the provider, within the hour. */
  readonly needsConsent?: true
  /** Logins of the same person at the same server, whose connections this secret may renew. */
  readonly peers?: readonly LoginId[]
  /** What to do when nothing is found with these credentials; absent: give consent at the provider. */
  readonly ifNothing?: string
}

/**
 * Claims of one user at one provider that were sent: their names are stored before, so that one whose answer
 * was lost is never sent again (reading R38).
 */
export interface SentClaims {
  /** Stores the name of a claim that is about to be sent; false: it was sent before. */
  add(name: string): Promise<boolean>
  /**
   * Waits a moment for another process that may be sending this claim just now; the user's logins at the
   * provider after that. Null: whoever sent it has had its time.
   */
  waitFor(name: string): Promise<readonly Login[] | null>
  /** The claim was not made, which is certain: it may be sent again. */
  remove(name: string): Promise<void>
}

/**
 * The owner of these credentials, and which part is secret. Rejects credentials that do not work.
 * @param known the logins of the same user at this provider: where credentials can be claimed once only, the
 *   login of a claim that was made before is the answer.
 * @param sent remembers the claims that are sent; absent: nothing does.
 */
export type IdentifyOwner = (
  credentials: Credentials,
  call: CallContext,
  known?: readonly Login[],
  sent?: SentClaims,
) => Promise<Identity>

export interface RevokeOptions {
  /** No other stored connection uses this login. */
  readonly last: boolean
  /**
   * It was asked for that the consent ends at the provider too. Where the key is the person's own, other
   * programs may use the same consent, so without this nothing is ended there.
   */
  readonly isAsked: boolean
}

/** How this installation reaches a provider, in words for operators. */
export interface InstallationAccess {
  /**
   * False when nothing but people's own keys is used: then nothing is to be checked while nobody is linked.
   */
  readonly hasOwnCredentials: boolean
  /** Whose credentials are used, e.g. `personal app`, `full app`, `tokens of people`. */
  readonly mode: string
  /** What this mode cannot do, e.g. `webhooks`; empty: everything is possible. */
  readonly off: readonly string[]
  /** What a person does to link the first login, one or two sentences. */
  readonly nextStep: string
  /** How people link on the pages with keys of their own; absent: not at all in this mode. */
  readonly ownKey?: OwnKeyAccess
}

/** What is told of a person's login without a call, in words for operators; sentences have no full stop. */
export interface LoginAccess {
  /** Why the variables of this installation cannot serve it, and what to do; null: they can. */
  readonly obstacle: string | null
  /** What is done once its consent or key has ended. */
  readonly renewal: string
  /** Where to look when the provider refuses its reads although consent and key are in order. */
  readonly whenRefused: string
}

/** What an adapter tells operators of its access and of logins, without a call. */
export interface OperatorWords {
  readonly access: InstallationAccess
  /** @param email the address of its owner, for the next step. */
  describeLogin(login: Login, email: string): LoginAccess
}

/** A key that a person gets for themselves, in words for them. */
export interface OwnKeyAccess {
  /** What the form asks for; empty: the key is set on this server already. */
  readonly fields: readonly OwnKeyField[]
  /** What they do, in three short lines. */
  readonly steps: readonly [string, string, string]
  /** What such a key cannot do, one or two sentences. */
  readonly limits: string
  /** It links nothing by itself: with it the person chooses an institution, whose page asks for consent. */
  readonly leadsToPage?: true
}

export interface OwnKeyField {
  /** Its name in the form. */
  readonly name: string
  /** The field of the link input (`linkFields` of the facts). */
  readonly field: string
  readonly label: string
  readonly hint?: string
  readonly isOptional?: true
}
