--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: dpfda_events_insert(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.dpfda_events_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$BEGIN IF NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM dpfda_events) THEN RAISE EXCEPTION 'dpfda: an entry has the number after the last one' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.number > 1 AND NOT EXISTS (SELECT 1 FROM dpfda_events WHERE number = NEW.number - 1 AND hash = NEW.previous) THEN RAISE EXCEPTION 'dpfda: an entry carries the hash of the last one' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.key IS NOT NULL AND EXISTS (SELECT 1 FROM dpfda_events WHERE key = NEW.key) THEN RAISE EXCEPTION 'dpfda: a key is charged once' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.name IS NOT NULL AND EXISTS (SELECT 1 FROM dpfda_events WHERE name = NEW.name) THEN RAISE EXCEPTION 'dpfda: a name has one budget' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.kind NOT IN ('create', 'anchor') AND NOT EXISTS (SELECT 1 FROM dpfda_events WHERE number = NEW.dataset AND kind = 'create') THEN RAISE EXCEPTION 'dpfda: an entry belongs to a data set' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.kind IN ('charge', 'freeze') AND (SELECT kind FROM dpfda_events WHERE dataset = NEW.dataset AND kind IN ('create', 'charge', 'freeze', 'anchor') ORDER BY number DESC LIMIT 1) = 'freeze' THEN RAISE EXCEPTION 'dpfda: a frozen budget stays as it is' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.kind = 'charge' AND NEW.total > (SELECT cap FROM dpfda_events WHERE number = NEW.dataset AND kind = 'create') THEN RAISE EXCEPTION 'dpfda: the total stays within the cap' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.kind = 'charge' AND (SELECT delta FROM dpfda_events WHERE number = NEW.dataset AND kind = 'create') = 0 AND NEW.total <> NEW.cost + (SELECT total FROM dpfda_events WHERE dataset = NEW.dataset AND kind IN ('create', 'charge', 'freeze', 'anchor') ORDER BY number DESC LIMIT 1) THEN RAISE EXCEPTION 'dpfda: a pure budget adds up' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.charged IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dpfda_events WHERE number = NEW.charged AND kind = 'charge' AND dataset = NEW.dataset) THEN RAISE EXCEPTION 'dpfda: an output belongs to a charge' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF NEW.charged IS NOT NULL AND EXISTS (SELECT 1 FROM dpfda_events WHERE charged = NEW.charged) THEN RAISE EXCEPTION 'dpfda: a charge has one output, and none once it is burnt' USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END$$;


--
-- Name: dpfda_events_never(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.dpfda_events_never() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$BEGIN RAISE EXCEPTION 'dpfda: what is entered is never changed' USING ERRCODE = 'integrity_constraint_violation'; END$$;


--
-- Name: dpfda_ledger_insert(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.dpfda_ledger_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$BEGIN IF EXISTS (SELECT 1 FROM dpfda_ledger) THEN RAISE EXCEPTION 'dpfda: a ledger has one identifier' USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END$$;


--
-- Name: dpfda_ledger_never(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.dpfda_ledger_never() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$BEGIN RAISE EXCEPTION 'dpfda: what is entered is never changed' USING ERRCODE = 'integrity_constraint_violation'; END$$;


--
-- Name: dpfda_outputs_insert(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.dpfda_outputs_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$BEGIN IF NOT EXISTS (SELECT 1 FROM dpfda_events WHERE charged = NEW.charged AND kind = 'output') THEN RAISE EXCEPTION 'dpfda: an output belongs to an entry' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF EXISTS (SELECT 1 FROM dpfda_outputs WHERE charged = NEW.charged) THEN RAISE EXCEPTION 'dpfda: a charge has one output' USING ERRCODE = 'integrity_constraint_violation'; END IF; IF sha256(NEW.output) <> (SELECT digest FROM dpfda_events WHERE charged = NEW.charged) THEN RAISE EXCEPTION 'dpfda: an output has its digest' USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END$$;


--
-- Name: dpfda_outputs_never(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.dpfda_outputs_never() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$BEGIN RAISE EXCEPTION 'dpfda: what is entered is never changed' USING ERRCODE = 'integrity_constraint_violation'; END$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: dpfda_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dpfda_events (
    number bigint NOT NULL,
    previous bytea NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    dataset bigint,
    name text,
    key text,
    charged bigint,
    digest bytea,
    what text,
    unit text,
    neighbours text,
    epsilon double precision,
    delta double precision,
    losses text,
    sums text,
    cost bigint,
    total bigint,
    cap bigint,
    hash bytea NOT NULL,
    CONSTRAINT dpfda_events_cap_check CHECK (((cap IS NULL) OR ((cap > 0) AND (cap <= '1000000000000000000'::bigint)))),
    CONSTRAINT dpfda_events_check CHECK (((length(previous) = 32) AND (length(hash) = 32))),
    CONSTRAINT dpfda_events_check1 CHECK (((kind = 'anchor'::text) = (dataset IS NULL))),
    CONSTRAINT dpfda_events_check10 CHECK (((kind = ANY (ARRAY['output'::text, 'burn'::text])) = (charged IS NOT NULL))),
    CONSTRAINT dpfda_events_check11 CHECK (((kind = ANY (ARRAY['charge'::text, 'output'::text])) = (digest IS NOT NULL))),
    CONSTRAINT dpfda_events_check12 CHECK (((kind <> 'create'::text) OR ((total = 0) AND (dataset = number)))),
    CONSTRAINT dpfda_events_check2 CHECK (((kind = 'create'::text) = (cap IS NOT NULL))),
    CONSTRAINT dpfda_events_check3 CHECK (((kind = 'charge'::text) = (key IS NOT NULL))),
    CONSTRAINT dpfda_events_check4 CHECK (((kind = 'charge'::text) = (cost IS NOT NULL))),
    CONSTRAINT dpfda_events_check5 CHECK (((kind = 'charge'::text) = (losses IS NOT NULL))),
    CONSTRAINT dpfda_events_check6 CHECK (((kind = ANY (ARRAY['create'::text, 'copy'::text])) = (name IS NOT NULL))),
    CONSTRAINT dpfda_events_check7 CHECK (((kind = ANY (ARRAY['create'::text, 'charge'::text])) = (total IS NOT NULL))),
    CONSTRAINT dpfda_events_check8 CHECK (((kind = ANY (ARRAY['create'::text, 'charge'::text])) = (epsilon IS NOT NULL))),
    CONSTRAINT dpfda_events_check9 CHECK (((kind = ANY (ARRAY['create'::text, 'charge'::text])) = (delta IS NOT NULL))),
    CONSTRAINT dpfda_events_cost_check CHECK (((cost IS NULL) OR (cost >= 0))),
    CONSTRAINT dpfda_events_delta_check CHECK (((delta IS NULL) OR ((delta >= (0)::double precision) AND (delta < (1)::double precision)))),
    CONSTRAINT dpfda_events_digest_check CHECK (((digest IS NULL) OR (length(digest) = 32))),
    CONSTRAINT dpfda_events_kind_check CHECK ((kind = ANY (ARRAY['create'::text, 'copy'::text, 'charge'::text, 'output'::text, 'burn'::text, 'freeze'::text, 'anchor'::text]))),
    CONSTRAINT dpfda_events_total_check CHECK (((total IS NULL) OR (total >= 0)))
);


--
-- Name: dpfda_ledger; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dpfda_ledger (
    one integer NOT NULL,
    id text NOT NULL,
    version integer NOT NULL,
    CONSTRAINT dpfda_ledger_one_check CHECK ((one = 1))
);


--
-- Name: dpfda_outputs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dpfda_outputs (
    charged bigint NOT NULL,
    output bytea NOT NULL
);


--
-- Data for Name: dpfda_events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.dpfda_events VALUES (1, '\xa27c85b3608d230c3d41b7dc1051b3c7091bdffd6dd527d4af0d25549fbc853d', 'create', 1795001292838, 1, 'scans', NULL, NULL, NULL, NULL, NULL, 'replace-one', 8, 0.0001, NULL, '[0,0,0,0,0,0,0,0,0]', NULL, 0, 8000000000000, '\x1e14c625ce83210c915a70d95815938d71c17f8c365193a9b2509592702adbbc');
INSERT INTO public.dpfda_events VALUES (2, '\x1e14c625ce83210c915a70d95815938d71c17f8c365193a9b2509592702adbbc', 'charge', 1795001292844, 1, NULL, 'mean', NULL, '\xc29ceea6c76c2f07374e519f092dc2891e9526bbc6717a7db6e0bb427a3fe7df', 'mean function, k-norm', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999977,"law":"pure"}]', '[1,300000000000,45000000000,0,0,0,0,0,0]', 300000000000, 300000000000, NULL, '\xced2eff51e4b233134b2b7d8a844fce1ae5431b306813b4705fde205fd6af3de');
INSERT INTO public.dpfda_events VALUES (3, '\xced2eff51e4b233134b2b7d8a844fce1ae5431b306813b4705fde205fd6af3de', 'output', 1795001292844, 1, NULL, NULL, 2, '\xd26324c078cf9c2b62e72c8fd5f68580fcf3e1a002bc695f6e1305e9214a1237', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x326fddbd44e13c93816b758d011d3454da5e2ba5562ca7943c951ba2371700ef');
INSERT INTO public.dpfda_events VALUES (4, '\x326fddbd44e13c93816b758d011d3454da5e2ba5562ca7943c951ba2371700ef', 'charge', 1795001292854, 1, NULL, 'mean-pure', NULL, '\xe3ebe11c58a764114595246475f69382d056040021cfe39eed7b57106ca9a869', 'mean function, k-norm', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999977,"law":"pure"}]', '[2,600000000000,90000000000,0,0,0,0,0,0]', 300000000000, 600000000000, NULL, '\x1796761dbb50d9cb24c5153bb1a8bc6413d5cd505724ec677c165b958c2fb4a5');
INSERT INTO public.dpfda_events VALUES (5, '\x1796761dbb50d9cb24c5153bb1a8bc6413d5cd505724ec677c165b958c2fb4a5', 'output', 1795001292854, 1, NULL, NULL, 4, '\xec7acc8657a64679de8c6c5ec2bb7d3f813064cf32d896cd4a22aa9092e24480', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x86c4f75554987120da7c91eaeaf0863a6ac369e10894f9eb1ca7eca69759993f');
INSERT INTO public.dpfda_events VALUES (6, '\x86c4f75554987120da7c91eaeaf0863a6ac369e10894f9eb1ca7eca69759993f', 'charge', 1795001292864, 1, NULL, 'mean-private-number', NULL, '\xe2b07ede5a4735c7cf8a8c589f7ad5360092b3d544a889b2bdfdf7cd60564f8f', 'mean function, k-norm', 'row', 'add-or-remove-one', 0.3, 0, '[{"epsilon":0.2999999999999978,"law":"pure"}]', '[3,1200000000000,270000000000,0,0,0,0,0,0]', 600000000000, 1200000000000, NULL, '\x84b2fb1233024496a26a6ce1188acadc783593e4d0bcd9a384188b522ff16bff');
INSERT INTO public.dpfda_events VALUES (7, '\x84b2fb1233024496a26a6ce1188acadc783593e4d0bcd9a384188b522ff16bff', 'output', 1795001292864, 1, NULL, NULL, 6, '\x694bb9b951be95a453c5725451c3563f1a7ea329eb7988266983029e38db1f66', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x38d7a28e6c10a9f044b901a9aad72e653537620296b44990b636869d7abf07b6');
INSERT INTO public.dpfda_events VALUES (8, '\x38d7a28e6c10a9f044b901a9aad72e653537620296b44990b636869d7abf07b6', 'charge', 1795001292876, 1, NULL, 'mean-gp', NULL, '\xf6bb9d294eacdaa338481e742a60038885b8c83c912941ae7a177d16747b3cfe', 'penalised mean function, gp', 'row', 'replace-one', 0.3, 1e-06, '[{"distance":2.5634796503140657e-18,"law":"gaussian","mu":0.07696817496787227,"size":24,"steps":435952028.4066261}]', '[4,1200000000000,270000000000,5924099958,3,16,24,0,0]', 205419555816, 1405419555816, NULL, '\xda027baec03f7b5deff4f630e5b349661caa466e5c7f3e0e201599e709c519f3');
INSERT INTO public.dpfda_events VALUES (9, '\xda027baec03f7b5deff4f630e5b349661caa466e5c7f3e0e201599e709c519f3', 'output', 1795001292876, 1, NULL, NULL, 8, '\xc915897e091c81a4ccb4054556d698a1255fc6784914da67f5f09c991c4b7750', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\xdf36f2b901a07b862f5ec7bd4b1ceac28f34b80dbbe939aaf890211d6f562469');
INSERT INTO public.dpfda_events VALUES (10, '\xdf36f2b901a07b862f5ec7bd4b1ceac28f34b80dbbe939aaf890211d6f562469', 'charge', 1795001292895, 1, NULL, 'mean-iclp-qr', NULL, '\xbbd0fc30825f207d7a3ef7235086f0013f8edae939c8d331fa1d029a03e328f3', 'penalised mean function, iclp-qr', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999976,"law":"laplace","steps":111848106.66655582}]', '[5,1500000000000,315000000000,5924099958,3,16,24,0,0]', 300000000000, 1705419555816, NULL, '\xb05d39e4744ab28b3b923cbb1f124f4d6b734760aa2f84a3c5f97d345667003d');
INSERT INTO public.dpfda_events VALUES (11, '\xb05d39e4744ab28b3b923cbb1f124f4d6b734760aa2f84a3c5f97d345667003d', 'output', 1795001292895, 1, NULL, NULL, 10, '\x4bf97e6834fbf53c7751ea97d2271f1e6373b5a057ba14b4dd2ddd1dfbba5534', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\xd1c891f67676bcb65544ab7960d10af9ad5f72b515829a070d0f15a1e173c4bb');
INSERT INTO public.dpfda_events VALUES (12, '\xd1c891f67676bcb65544ab7960d10af9ad5f72b515829a070d0f15a1e173c4bb', 'charge', 1795001292906, 1, NULL, 'mean-iclp-ar', NULL, '\x95eaa0569a3ae621e65cfa078f9d25d6872a46a1011aa503b8646eaa437a4e47', 'mean function, iclp-ar', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.29999999999999766,"law":"laplace","steps":111848106.66655578}]', '[6,1800000000000,360000000000,5924099958,3,16,24,0,0]', 300000000000, 2005419555816, NULL, '\x160339bfb816b42f26c0c306d3b2a62d16299e74dcda50de767d2f1a4866c479');
INSERT INTO public.dpfda_events VALUES (13, '\x160339bfb816b42f26c0c306d3b2a62d16299e74dcda50de767d2f1a4866c479', 'output', 1795001292906, 1, NULL, NULL, 12, '\x065bd18ad6df90cf76f42bbd2e8390d3674d2d40585f17d9dc3956504d5e89a4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x1c8f554c4865c3b17d18124ea794676bfa6d2170dbed7adc5906449c5851dd9d');
INSERT INTO public.dpfda_events VALUES (14, '\x1c8f554c4865c3b17d18124ea794676bfa6d2170dbed7adc5906449c5851dd9d', 'charge', 1795001292915, 1, NULL, 'mean-bernstein', NULL, '\x0b37ff90dfe2474861d7de707a08b8ed669cb59d2adc3b58ed2bb2d0bd7451c5', 'mean function, bernstein', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.29999999999999777,"law":"laplace","steps":512552415.137499}]', '[7,2100000000000,405000000000,5924099958,3,16,24,0,0]', 300000000000, 2305419555816, NULL, '\x1b594432a9deb4a38b0643c007e885fb83c92cf55f441ab6260754704db5ed2b');
INSERT INTO public.dpfda_events VALUES (15, '\x1b594432a9deb4a38b0643c007e885fb83c92cf55f441ab6260754704db5ed2b', 'output', 1795001292915, 1, NULL, NULL, 14, '\x65dc41a475329b7c67a469b4d1818f4c1d3ac6fdbda94ab42357ccb021c87580', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x98b5508e222f6b7f91a6c8942bfdbbd3996183afc6926ea77129f0d3e3de91ee');
INSERT INTO public.dpfda_events VALUES (16, '\x98b5508e222f6b7f91a6c8942bfdbbd3996183afc6926ea77129f0d3e3de91ee', 'charge', 1795001292942, 1, NULL, 'mean-exponential', NULL, '\xd6211578c14c347dc8f7fa15ac7d0838e3f1d71b282d53eda064b8e06c2f82a1', 'mean function, exponential', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999978,"law":"range"}]', '[8,2400000000000,416250000000,5924099958,3,16,24,0,0]', 300000000000, 2605419555816, NULL, '\xa69e9191254fa99bb354ffe97598323e1020cc939184f50d85705788032bdf79');
INSERT INTO public.dpfda_events VALUES (17, '\xa69e9191254fa99bb354ffe97598323e1020cc939184f50d85705788032bdf79', 'output', 1795001292942, 1, NULL, NULL, 16, '\xddd61cd8dd387148801f8d5bb2c3bcf66f42b81091f7d2182d173957a2a28839', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x00445d9e09baa2bc5c7a41ff33d2cc080288a75a4e62207d98c9c26f0d731cea');
INSERT INTO public.dpfda_events VALUES (18, '\x00445d9e09baa2bc5c7a41ff33d2cc080288a75a4e62207d98c9c26f0d731cea', 'charge', 1795001292975, 1, NULL, 'covariance', NULL, '\x9b68d0847bb9c7383d02d06dc683e931e815fcdfe6522fef7001c2dbffe5646e', 'covariance function, wishart', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.29999999999999977,"law":"pure"}]', '[9,2700000000000,461250000000,5924099958,3,16,24,0,0]', 300000000000, 2905419555816, NULL, '\x8ae73bd9bbf97aaa895090fc92c2e193ba95e5432804a7a0027ff1dea1089779');
INSERT INTO public.dpfda_events VALUES (19, '\x8ae73bd9bbf97aaa895090fc92c2e193ba95e5432804a7a0027ff1dea1089779', 'output', 1795001292975, 1, NULL, NULL, 18, '\x55a9a71ff1152691ceefedc80aaf0c57ba97abd02e9cf1fa84a1bc1a217c23e0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x8e17c624f9116a9ee56eaad4fd03a29caa8bfbc67add40403c6b4ab518ee297f');
INSERT INTO public.dpfda_events VALUES (20, '\x8e17c624f9116a9ee56eaad4fd03a29caa8bfbc67add40403c6b4ab518ee297f', 'charge', 1795001292987, 1, NULL, 'components', NULL, '\x510454f4441b69111ad2d61bb6d1adc0310c8aefb0e49e4ed7cafb6179d47e94', '1 principal component, exponential', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.29999999999999777,"law":"range"}]', '[10,3000000000000,472500000000,5924099958,3,16,24,0,0]', 300000000000, 3205419555816, NULL, '\x75acb8ad5ffaff6f3980b5973a8fbccbc5752741c5aafd9e78255b05101410df');
INSERT INTO public.dpfda_events VALUES (21, '\x75acb8ad5ffaff6f3980b5973a8fbccbc5752741c5aafd9e78255b05101410df', 'output', 1795001292987, 1, NULL, NULL, 20, '\xda96e6ddefe1d22419f45e8218cdb124318da47fb5e1a5161702c167e6f2bc22', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x55b26705f868eb458bb23af5daf829fdb8ae1eeea76fcee9ef29d6af49d96f38');
INSERT INTO public.dpfda_events VALUES (22, '\x55b26705f868eb458bb23af5daf829fdb8ae1eeea76fcee9ef29d6af49d96f38', 'charge', 1795001293007, 1, NULL, 'regression', NULL, '\x4b7ea2859f0b532603f0a753f4757f19b63e5e3255c197a11027e1ba7e82b044', 'regression coefficient functions, gaussian', 'row', 'replace-one', 0.3, 1e-06, '[{"distance":3.8462429108604363e-23,"law":"gaussian","mu":0.07696817496787844,"size":18,"steps":97468866855.04433}]', '[11,3000000000000,472500000000,11848199916,4,17,42,0,0]', 205419555816, 3303554365310, NULL, '\x7136a55f2ba6868253af524ee16e8335cf6d8b494f27795fd6065b1af80450be');
INSERT INTO public.dpfda_events VALUES (23, '\x7136a55f2ba6868253af524ee16e8335cf6d8b494f27795fd6065b1af80450be', 'output', 1795001293007, 1, NULL, NULL, 22, '\x9745950cd6fd5e9388d865b65f044ba7b855ea6f8707f38be651d1021993c545', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x96953ad2c2f1edb5d342b31cf41fecd94c445558ac93a788992d60e896d332e9');
INSERT INTO public.dpfda_events VALUES (24, '\x96953ad2c2f1edb5d342b31cf41fecd94c445558ac93a788992d60e896d332e9', 'charge', 1795001293030, 1, NULL, 'density', NULL, '\x16b439f00e25bffad088a2ac5424e85ec985dab79494b5b1cbda693a74a976b5', 'density, laplace', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999977,"law":"laplace","steps":111850306.66666764}]', '[12,3300000000000,517500000000,11848199916,4,17,42,0,0]', 300000000000, 3603554365310, NULL, '\x273e9a578f7b76affcd80ed303b6f04fe69f4c662ca3803abfcec97e9f3d28ac');
INSERT INTO public.dpfda_events VALUES (25, '\x273e9a578f7b76affcd80ed303b6f04fe69f4c662ca3803abfcec97e9f3d28ac', 'output', 1795001293030, 1, NULL, NULL, 24, '\x40856b8025f7cba337410c418edb75621cff5e6a12750be4146563a2bad1ade4', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x0a30f48265a016b87ecb655dd23c00dde2b2209bc9e1f531dc032d41b2223602');
INSERT INTO public.dpfda_events VALUES (26, '\x0a30f48265a016b87ecb655dd23c00dde2b2209bc9e1f531dc032d41b2223602', 'charge', 1795001293134, 1, NULL, 'density-gp', NULL, '\xc6f800b1feb1c67d5422fc9172ff6e22416cd1408fbc3f8ddf9a31ed09a7b15e', 'density, gp', 'row', 'replace-one', 0.3, 1e-06, '[{"distance":6.622278533740899e-18,"law":"gaussian","mu":0.07696817496787169,"size":31,"steps":308265657.23352695}]', '[13,3300000000000,517500000000,17772299874,11,58,73,0,0]', 205419555816, 3681284588134, NULL, '\x2e850bddb6f1eda5a64f1c7c1a799e0c87cd521ef522e8ea16ba05bc2360e8ee');
INSERT INTO public.dpfda_events VALUES (27, '\x2e850bddb6f1eda5a64f1c7c1a799e0c87cd521ef522e8ea16ba05bc2360e8ee', 'output', 1795001293134, 1, NULL, NULL, 26, '\xb12783d17fb6f3acb120433542116e71881b9fa343a841dbe1a6c4ff4ad8627d', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x5b4005b232f774945611a1bba802b7ef74e4afead83d048982e99ff70b279987');
INSERT INTO public.dpfda_events VALUES (28, '\x5b4005b232f774945611a1bba802b7ef74e4afead83d048982e99ff70b279987', 'charge', 1795001293152, 1, NULL, 'density-edges', NULL, '\xbb41b4de6b789fdfaa25c5a3b1e6a9c1a59426b9825308fe0c3132b7d4f5c812', 'density, laplace', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999977,"law":"laplace","steps":111848436.66666764}]', '[14,3600000000000,562500000000,17772299874,11,58,73,0,0]', 300000000000, 3981284588134, NULL, '\x5029973fa6c085ba99475b6eff91a4620a67c03f65bcc5888252dd16808a591e');
INSERT INTO public.dpfda_events VALUES (29, '\x5029973fa6c085ba99475b6eff91a4620a67c03f65bcc5888252dd16808a591e', 'output', 1795001293152, 1, NULL, NULL, 28, '\x3d87d5b5d27cec67db98e58bbef9336a6e304a5e12bc0848d219a53dc5bcc1e5', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x126f7a3e84e80db5a2129b9b80ad82187dccc58dafe420a19285c1823cb3984d');
INSERT INTO public.dpfda_events VALUES (30, '\x126f7a3e84e80db5a2129b9b80ad82187dccc58dafe420a19285c1823cb3984d', 'charge', 1795001293162, 1, NULL, 'classifier', NULL, '\x549de1355cf09d4a9fbf12ce995d904dcc1de86d7f40e6e88cab6c9b305d2c5b', 'kernel classifier, k-norm', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999977,"law":"pure"}]', '[15,3900000000000,607500000000,17772299874,11,58,73,0,0]', 300000000000, 4281284588134, NULL, '\x4d0a8648c863cc99d431bb4d89a9ab23e798c78640ef7878cf71e88f740f88c0');
INSERT INTO public.dpfda_events VALUES (31, '\x4d0a8648c863cc99d431bb4d89a9ab23e798c78640ef7878cf71e88f740f88c0', 'output', 1795001293162, 1, NULL, NULL, 30, '\x41362f5d2cfd1f77981cab1400f4f32253108186b55cf6b6bd78c58cd5cdb093', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x7165f7bbdf5b3398e743c91862f15d8a06e1e178a974523bb107318fbb68234e');
INSERT INTO public.dpfda_events VALUES (32, '\x7165f7bbdf5b3398e743c91862f15d8a06e1e178a974523bb107318fbb68234e', 'charge', 1795001293174, 1, NULL, 'regressor', NULL, '\xbb40a09a8d5b6abb05ec84a60be377230eb6395d38bfc6ec9884d69124c54997', 'kernel regressor, k-norm', 'row', 'replace-one', 0.3, 0, '[{"epsilon":0.2999999999999977,"law":"pure"}]', '[16,4200000000000,652500000000,17772299874,11,58,73,0,0]', 300000000000, 4581284588134, NULL, '\x25b03cb9a0bb151a3bf87d286a1e083383405acd0f6e2859a5fcbb5f9af9a78b');
INSERT INTO public.dpfda_events VALUES (33, '\x25b03cb9a0bb151a3bf87d286a1e083383405acd0f6e2859a5fcbb5f9af9a78b', 'output', 1795001293174, 1, NULL, NULL, 32, '\x938a45b61aec42ad047057603c4cd92b2e3c59015e2b9d8d2c91c8a11d38f182', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\xabacfb5737836f06e804a6efe5aa4e6743b633d522c6cda4a5a68214c788ff41');
INSERT INTO public.dpfda_events VALUES (34, '\xabacfb5737836f06e804a6efe5aa4e6743b633d522c6cda4a5a68214c788ff41', 'charge', 1795001293181, 1, NULL, 'bound', NULL, '\xa3eb434600e092c1fbd8e61debdf16595dc99ed605ae3a90cb33b8071c47d1e4', 'bound', 'row', 'replace-one', 0.1, 0, '[{"epsilon":0.1,"law":"range"}]', '[17,4300000000000,653750000001,17772299874,11,58,73,0,0]', 100000000000, 4681284588134, NULL, '\x9e1538cd6f5526e3aa246b88b1ff7cca90b22af7b334f3e32989d0dce9f0aa9a');
INSERT INTO public.dpfda_events VALUES (35, '\x9e1538cd6f5526e3aa246b88b1ff7cca90b22af7b334f3e32989d0dce9f0aa9a', 'output', 1795001293181, 1, NULL, NULL, 34, '\xfc76e91ab3bc5208a194bf6b5381cac7c6618453d8e92b6cca8373cc2f8efcff', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x174dec9afa7d93f8aeab0095bbb3dfbdcbd6e0fd6fe870479c480bcf0624a38c');


--
-- Data for Name: dpfda_ledger; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.dpfda_ledger VALUES (1, '5238f684eec24950bf9bf9e833e0182c', 1);


--
-- Data for Name: dpfda_outputs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.dpfda_outputs VALUES (2, '\x0201626f1fcf692bc2aa5df510b8157f89b4a8026ef98394de783bcd2be397a4d32095ab9c3f795df52782bb0bca26be8f787e60bce9f6121d7e6979926aedd0a67e93e70d62eec3fdb7336e01074a7f1f76674862104e4a12b9c0a49c7428a1d8b533007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da636495bbd1b7c7958161f5d77f3b9c19185e87a777ba33307031fd61f9c10004ff81101b050026ab129a');
INSERT INTO public.dpfda_outputs VALUES (4, '\x02010ef3c73f7e721d40eb91a4a95ed090633a3c791fb278766f164c817fd6d55a3687610002523c17233c7ee0c89fbba4702b3f1e6812e0529b3f1750eaa12e53548c042dd063acb4f4606e8507d3df379d4713179343e0ef26991a5e35d65bd11b33007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63e49cffe9416e6dcc5ee65e06862b67effa394eb8107b968121fa6c75d99963fb555d18189ea97cb9c3f88c91e33503c37f86ff40c40041789900f0ed281a');
INSERT INTO public.dpfda_outputs VALUES (6, '\x0201330347384c2c14e52682a3019ddfd6340e52469eaf2b33b2f84c07b3ae09d73d100fa41a8075021df3138c08a8eb6dab8a92d408ac72be004078c1dc13a7d3e63f92c5495a9a2d98f4761aa7c822b02e3c5f61a306ae348e70742fafa1cfb61a33007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63647bd69b7369e16a068608be5493c9ea0c0c3a1b3f993ddfc1c0f08e9d9749ec0f0304fcc745030062dd0f74');
INSERT INTO public.dpfda_outputs VALUES (8, '\x0201d80c3c10c29109c8ef1919846e9b9aa004695bccd0348249cc39440fad069414d559bb2d660ee0a2928cb04879171ec4e923715a8da70726f715226f457a725946f2950d7077998e1bb7fca7b8bc57830efc99264fedf99c15921d46524c167033007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da6394884ed934e56ad64ae9fdf65aabf39f695e987bec8843c7ef5e290606b1292a8b945fde8b3990e766d5a07fa0288325b422f9d82f3b0606d6370f3f73d76ddaf04c56b846223cb1d0a6d14857e4e0940006067d1ee7c59f577a9cfcedf447925d98ede7ff6b5bfeff1617fec2c0c0f09fe1ff7f100632403c30600073a8280300a42a66ad');
INSERT INTO public.dpfda_outputs VALUES (10, '\x0201d575c2922db2a7591ea47a640e7e81189e83d6c76fc6ec7b62da4b7f8fbaf6f9e5c7384b2a941637eaebf6da6f385dc1a137acd203c82ed103b97cead2115f8802bf48b946301855bf381ab60f3779dd8fdd188496626cd7ae9f9fc39466762133007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da6394288e4fbff541eeb118e739be0f7384438edc6f7cdcf9fde8ed790c0c76766776dee1ba2420b3929bc7b733f9ff8569a14986fc5e160c0cb3673bfee3fdef3e5747f9c29d5283d7ec173c97162b5fb93f8b81819d8de39fe023463bee4f6c9b5f2c72b52e786470e1e3ceefc20c20f01f08812423c3bfffffff31fc65fccffcefff2f6419200202300f4493210300e2b35efb');
INSERT INTO public.dpfda_outputs VALUES (12, '\x02019a711af7480e894d1f398805135245739cd9e9125924a8b5c5dadf331e4a7a0bdf0f758011ba8dc5ef081a4a2258d499a4a4ee412f8efd5aeee9943bbe1e91acdf5b56a17bf5f4657d89637c5c2c81a9778dbaa6fc149d9097ec119af0e9bf4533007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da6364135d9cf575f57e06867dcb8a1d969c6560d8f5f2fbcef5171818be338acaf3bc6060f8cfc00026b0d3001f6d15fb');
INSERT INTO public.dpfda_outputs VALUES (14, '\x0201f0a77243ed520b8246e895108bec592bd94f88cd935aa2b2260dadda1eaf64898c8bb4fd60cc17273206115858b9e3210e00b893518d6a1b969755b436453767c2a185da85d99b52e5ac82c110c1fc92c940706515f6b6538c9f218ce4f698af33007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63143db0eaccfcc57f5256cc0c4cd9a82c69fbb1e598c7a2c90c0cb2934e4bfdbbc0bb69cb94cd214bdd3296194b8bac7061609099942999eafa96e345b9e1b5788f76c9c74206dba218187e9e0c67bcf7ffbf879aace1bfc7dfce09b3283f7bcac9c0f0ff3f08030930f59f0122420d61006faa5568');
INSERT INTO public.dpfda_outputs VALUES (16, '\x02011393f674677e05e30e54d270bd4d67e698d99d1db3201960903740a727736230407e324afea228197b11be6fa48fcbf95d37646746cf738ab12fdc7672c3919ddb867e31c3d4932360939ec66f83c2dc15c002556677aa66a1e879f9bd910e5e33007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63945830e143c183060106830085860f070e0834284c7078b0e181010303834a89f4820f1ffcbe6eca94f6bbb955ed5a73d5df795d39531918d60938dd0fced3733d35cfc3cbc87b3657c499c86502df5ff93330709b1d7cc5212864ca75e9ad3c8f000f9bc8cfdf3c7f857fb13080c07f0809a140f47f06189b5a3200444c476b');
INSERT INTO public.dpfda_outputs VALUES (18, '\x02011e222e714262b0d28345f9a4e64ea9042829e5ab4a93476cbb34d35d110c80e6117dd1e337d86c6c03fc56f3ef15ab8bc9cce4d030349d871a8126a69883328724d11eea61e7f47218403155b1fe8aa0cb9513321c5a9c3ca65c819e49c76bfb33007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63e4bffdb27cdef92d7e47571adddaa5a05cc4c0f0a47992f8faf511826de5db180db6ff65601061b233f78cfdb4507fcf11db37cbbf3030cc49bdf63eb5c5375fd23b87af21ab858121d14b4a865950e00f8324ebcf1f1fbe31c0c07f100602c202009eaa32e8');
INSERT INTO public.dpfda_outputs VALUES (20, '\x02019c9ecf0f3e04e74bfe30f27456d2ff8737ae87733a1e5f04dcb6c12ae6725229061bf2f0b6567d325e45a664ee3cb943557fc9dbffce1f0fc7938ffe51c3e0d54359fc44f460f7c03269c5b23fc31e0a73b9d93fce5cc22524ed41c53b64fba933007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da6364c9ff9af99181615291fd4b06868f3fffff6560f80f04b848006d751cc2');
INSERT INTO public.dpfda_outputs VALUES (22, '\x02018b16b80732aaeb9a0c75bbabac47b71f196ce3b03554cc84ae50157c264952379c3da4bf396d034375960cb45a800610cae3ae02e1608091b05eef6f2a2167f74cc7715f5e473c7bf091c8cee7a06a2ffdb827fb78158939891bce9ee4feb2e833007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63145a5fce35f5e15ec7f991c2a1953b4d1504961f6360b0bdf52fa2c4a935706d4e5ee209a179bedd27181832a26f0aefbbb1f27ca9f2418b62cd1d336d3419183ef45dee58754454b5fbb380d1df65414c954c0c0cc1214af799b77e52baa5f0692fdb9a3fb7dec93280c07f86ffffa1041030102b0600f5e949fa');
INSERT INTO public.dpfda_outputs VALUES (24, '\x0201e1053889b9fe24471e9f4a7c45a5a96f5f265f77c01605c5a0af96fbad340a0c3c51112d6ad059a43f5c661e74f4670d8e5274a0878865f204582861f89f4a64ca7649dc8621cd9f906c24c832c20c6ad4c46ca04edf7c00e35700ec3ab17f9633007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da6314f9d216fae396ecd5b8143ffdc6250cae6bff3aa7c53030bc9b2c949bfd939531ea9bdf15b13997afd72569fb3130c45d66bab0ffce31651ffd5bbc2d199f6d6d837f593030f071700be8b148080a09c87e54e2e51112129510634006ff19b001b24401fb6a23b3');
INSERT INTO public.dpfda_outputs VALUES (26, '\x02019a59892f4cae020e0df12f578b45f3f53c138a78ff8d772c838fc9889ad43cbe05edddd9b6e3a355b3cda1c0d92a3fcc2c03587f5b166a651f0d2aed64e5e86de258d3152746fa30844324b11d1347e6682facd6e58f6aa7c4e7d814f26e593a33007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63940f8962f8f82d21c3f9cc1bd3001eae69e7fd66fc10f31159a1b94235edf7de1dba0c0c51f91f32a79dd13431f52cfae874f1c871d682ae09ff03839b98d3e6b4af3cd1c3c050bd2fcd43b873ee6931e6c66b7a3ead866f32e24d848ecdbdc03963467d919e2903c37615bdff3f39d8e4a43e7133be7ffdf6c7dbbbff7edd7bc3fbff1e271fe39f9fec0c20f0ff3f9804316000220691a0b50200529a8099');
INSERT INTO public.dpfda_outputs VALUES (28, '\x020166b2bfc649c7d41652f33b4ef4a56b707406a9b95f0ddee9319188d924fec9cb750a2df2a11e0409047840ac78aa08f280f20b3f9f5366ce2f50a54cc56fa3d76a4f208b0a05d12baf1859e09bdac991009fa47abb2d24519de7dd926bc6f1e733007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da6364f689726360b86c10c8c0507c489d81c1a1e32203160000957e053a');
INSERT INTO public.dpfda_outputs VALUES (30, '\x020149a582b5ff858ac4d88d3303cf2b00df1751fbf34a0bbf33ffe869697344454407c8a34cffa90d365aca92c91699b8ec8799dfd33d877953ee94ebd10a88cb6b5b629274292550acd927e67fee4d6471016a3f5fb463d1fa7ccce8209ba23c7233007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63e4ec31e07ab75e63d16a66068602ef39e76d85366e4f616078155392637ceaed920a0606867f6e8cfc7f453f730099ffc118441260020045e91ca8');
INSERT INTO public.dpfda_outputs VALUES (32, '\x020124d5dcf99ba0e0e23566bc259d3627bf6ae4523002c91edeb022c19d68901311385142e2893c75057781bc4b0c5fa56d97d120d6b0be48b53eeec451440b6539a26f4f4ce9735f8940df2397904c3a9fcdf775743c08d3392a598ca282add4e033007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63e45c3ca7284970b3d9c1280686dd8dbefc1e5ad5d2eb1918624f5f7d9eb0bcace8350383d2fb0f7c5a4cfffeb0323030fcff0f23083001c3e2216a');
INSERT INTO public.dpfda_outputs VALUES (34, '\x0201709b55ce0c02d4e8bb2715a2d6ad3249822c0e27988afcd711d2e1f3e9e4f1f7eed56f8af5ff8205cd00918f81954362c169a4d2a79424ea1ab20be855c7a6bc000000000000000000000000000000000000000000000000000000000000000033007b226470666461223a22302e312e30222c226f70656e6470223a22302e31362e30222c226e756d7079223a22322e342e36227d78da63646466c0060000890006');


--
-- Name: dpfda_events dpfda_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dpfda_events
    ADD CONSTRAINT dpfda_events_pkey PRIMARY KEY (number);


--
-- Name: dpfda_ledger dpfda_ledger_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dpfda_ledger
    ADD CONSTRAINT dpfda_ledger_pkey PRIMARY KEY (one);


--
-- Name: dpfda_outputs dpfda_outputs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dpfda_outputs
    ADD CONSTRAINT dpfda_outputs_pkey PRIMARY KEY (charged);


--
-- Name: dpfda_fates; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX dpfda_fates ON public.dpfda_events USING btree (charged) WHERE (charged IS NOT NULL);


--
-- Name: dpfda_keys; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX dpfda_keys ON public.dpfda_events USING btree (key) WHERE (key IS NOT NULL);


--
-- Name: dpfda_names; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX dpfda_names ON public.dpfda_events USING btree (name) WHERE (name IS NOT NULL);


--
-- Name: dpfda_states; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX dpfda_states ON public.dpfda_events USING btree (dataset, number) WHERE (kind = ANY (ARRAY['create'::text, 'charge'::text, 'freeze'::text, 'anchor'::text]));


--
-- Name: dpfda_events dpfda_events_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dpfda_events_insert BEFORE INSERT ON public.dpfda_events FOR EACH ROW EXECUTE FUNCTION public.dpfda_events_insert();

ALTER TABLE public.dpfda_events ENABLE ALWAYS TRIGGER dpfda_events_insert;


--
-- Name: dpfda_events dpfda_events_never; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dpfda_events_never BEFORE DELETE OR UPDATE OR TRUNCATE ON public.dpfda_events FOR EACH STATEMENT EXECUTE FUNCTION public.dpfda_events_never();

ALTER TABLE public.dpfda_events ENABLE ALWAYS TRIGGER dpfda_events_never;


--
-- Name: dpfda_ledger dpfda_ledger_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dpfda_ledger_insert BEFORE INSERT ON public.dpfda_ledger FOR EACH ROW EXECUTE FUNCTION public.dpfda_ledger_insert();

ALTER TABLE public.dpfda_ledger ENABLE ALWAYS TRIGGER dpfda_ledger_insert;


--
-- Name: dpfda_ledger dpfda_ledger_never; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dpfda_ledger_never BEFORE DELETE OR UPDATE OR TRUNCATE ON public.dpfda_ledger FOR EACH STATEMENT EXECUTE FUNCTION public.dpfda_ledger_never();

ALTER TABLE public.dpfda_ledger ENABLE ALWAYS TRIGGER dpfda_ledger_never;


--
-- Name: dpfda_outputs dpfda_outputs_insert; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dpfda_outputs_insert BEFORE INSERT ON public.dpfda_outputs FOR EACH ROW EXECUTE FUNCTION public.dpfda_outputs_insert();

ALTER TABLE public.dpfda_outputs ENABLE ALWAYS TRIGGER dpfda_outputs_insert;


--
-- Name: dpfda_outputs dpfda_outputs_never; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dpfda_outputs_never BEFORE DELETE OR UPDATE OR TRUNCATE ON public.dpfda_outputs FOR EACH STATEMENT EXECUTE FUNCTION public.dpfda_outputs_never();

ALTER TABLE public.dpfda_outputs ENABLE ALWAYS TRIGGER dpfda_outputs_never;


--
-- PostgreSQL database dump complete
--


