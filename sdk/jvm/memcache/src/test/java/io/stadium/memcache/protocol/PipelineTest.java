package io.stadium.memcache.protocol;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.memcache.Dialect;
import io.stadium.memcache.ProtocolError;
import io.stadium.memcache.ProtocolError.Violation;
import io.stadium.memcache.Uncertain;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The operations that answers belong to, quiet stores and hostile servers among them. */
class PipelineTest {
    private static final int VALUE_BYTES_MAX = 1 << 20;

    /** Pieces of answers, so that random sequences come far. */
    private static final List<String> PIECES = List.of("HD\r\n", "HD O1\r\n", "HD O2 c5\r\n",
            "VA 2 O1 f3\r\nhi\r\n", "VA 2 O4 t-1 W\r\n12\r\n", "EN\r\n", "EN O1\r\n", "NS O2\r\n",
            "EX O2\r\n", "NF O3\r\n", "MN\r\n", "VALUE k0 0 2\r\nhi\r\n", "VALUE k1 7 0 9\r\n\r\n",
            "VALUE k2 0 3\r\nabc\r\n", "END\r\n", "STORED\r\n", "NOT_STORED\r\n", "DELETED\r\n",
            "TOUCHED\r\n", "5\r\n", "STAT a b\r\n", "VERSION 1.6\r\n", "ERROR\r\n",
            "CLIENT_ERROR bad\r\n", "SERVER_ERROR out of memory\r\n", "VA 99999999999999999999\r\n",
            "VALUE k0 0 1048577\r\n", "\r\n", "VA 2\r\nhixx", "HD O99999999999999999999\r\n");

    /** A connection without a socket. */
    private static final class Line {
        final Pipeline pipeline = new Pipeline(VALUE_BYTES_MAX);
        final Outbox outbox = new Outbox(pipeline);
        final List<Operation> operations = new ArrayList<>();
        final List<String> results = new ArrayList<>();

        Line(Dialect dialect) {
            outbox.speak(dialect);
        }

        Line add(Command command, String key) {
            byte[] bytes = key.getBytes(UTF_8);
            Operation operation = new Operation(command, bytes, Keys.isBinary(bytes), 0);
            operation.value = command == Command.STATS || command == Command.VERSION
                    ? command.text().getBytes(UTF_8) : "v".getBytes(UTF_8);
            operation.expiry = command == Command.INCR ? Operation.ABSENT : 0;
            operations.add(operation);
            outbox.add(operation, false, 0);
            return this;
        }

        String sealed(boolean withWrites) {
            outbox.seal(withWrites);
            return taken();
        }

        String confirmed() {
            outbox.sealConfirmed();
            return taken();
        }

        private String taken() {
            Bytes bytes = outbox.takeSealed(new Bytes());
            return new String(bytes.array, 0, bytes.length, UTF_8);
        }

        List<String> receive(String answers) {
            byte[] bytes = answers.getBytes(ISO_8859_1);
            assertEquals(bytes.length, pipeline.receive(bytes, 0, bytes.length, this::done));
            return results;
        }

        void done(Operation operation) {
            String text = operations.indexOf(operation) + " ";
            if (operation.error != null) {
                boolean isUncertain = operation.error instanceof Uncertain;
                text += (isUncertain ? "uncertain " : "failed ")
                        + operation.error.getMessage().replaceAll(".*: ", "");
            } else if (operation.command == Command.INCR && operation.outcome
                    == Operation.Outcome.DONE) {
                text += operation.number;
            } else {
                boolean hasValue = operation.value != null && operation.command.verb()
                        != Command.Verb.STORE && operation.outcome == Operation.Outcome.DONE;
                text += operation.outcome
                        + (hasValue ? " " + new String(operation.value, UTF_8).strip() : "");
            }
            results.add(text);
        }
    }

    private static Line meta() {
        return new Line(Dialect.META);
    }

    @Test
    void getsShareALineAndLeaveBeforeSets() {
        Line line = meta().add(Command.SET, "c").add(Command.GET, "a").add(Command.GET, "b");
        assertEquals("get a b\r\nms c 1 q\r\nv\r\nmn\r\n", line.confirmed());
        assertEquals(List.of("1 NOT_FOUND", "2 DONE hi", "0 DONE"),
                line.receive("VALUE b 0 2\r\nhi\r\nEND\r\nMN\r\n"));
        assertTrue(line.pipeline.isEmpty());
    }

    @Test
    void aGetDoesNotOvertakeASetOfItsKey() {
        Line line = meta().add(Command.SET, "a").add(Command.GET, "a").add(Command.SET, "a");
        assertEquals("ms a 1 q\r\nv\r\nget a\r\nms a 1 q\r\nv\r\n", line.sealed(true));
    }

    @Test
    void longLinesOfGetsAreCut() {
        Line line = meta();
        for (int at = 0; at < 20; at++) {
            line.add(Command.GET, "k".repeat(240));
        }
        String[] lines = line.sealed(false).split("(?<=\n)");
        assertEquals(3, lines.length);
        for (String one : lines) {
            assertTrue(one.length() <= 2_000 && one.startsWith("get k"));
        }
    }

    @Test
    void quietSetsAreConfirmedBeforeAnAnsweredWriteAndNowAndThen() {
        Line line = meta().add(Command.SET, "a").add(Command.DELETE, "b");
        assertEquals("ms a 1 q\r\nv\r\nmn\r\nmd b O1\r\n", line.sealed(true));
        for (int at = 0; at < 514; at++) {
            line.add(Command.SET, "a");
        }
        assertEquals(3, line.sealed(true).split("mn\r\n", -1).length);
    }

    @Test
    void commandsAreWrittenInBothDialects() {
        Line line = meta().add(Command.ADD, "a b").add(Command.INCR, "k").add(Command.TOUCH, "k")
                .add(Command.GETS, "k").add(Command.GET, "a b").add(Command.STATS, "k");
        assertEquals("ms YSBi 1 b ME O1\r\nv\r\nma k v D0 O2\r\nmg k T0 O3\r\n"
                + "mg k v f t c N0 O4\r\nmg YSBi b v f t N0 O5\r\nstats\r\n", line.sealed(true));
        line = new Line(Dialect.CLASSIC).add(Command.SET, "k").add(Command.CAS, "k")
                .add(Command.DELETE, "k").add(Command.INCR, "k").add(Command.TOUCH, "k")
                .add(Command.GETS, "l").add(Command.GET, "m");
        assertEquals("get m\r\ngets l\r\nset k 0 0 1\r\nv\r\ncas k 0 0 1 0\r\nv\r\ndelete k\r\n"
                + "incr k 0\r\ntouch k 0\r\n", line.sealed(true));
        assertEquals(List.of("6 NOT_FOUND", "5 DONE x", "0 DONE", "1 EXISTS", "2 DONE", "3 12",
                "4 NOT_FOUND"), line.receive("END\r\nVALUE l 0 1 9\r\nx\r\nEND\r\nSTORED\r\n"
                + "EXISTS\r\nDELETED\r\n12\r\nNOT_FOUND\r\n"));
    }

    @Test
    void anErrorAmongQuietStoresIsOfAllOrOfAnUnknownOne() {
        Line line = meta().add(Command.SET, "a").add(Command.SET, "b");
        line.confirmed();
        assertEquals(List.of("0 failed x", "1 failed y"),
                line.receive("SERVER_ERROR x\r\nCLIENT_ERROR y\r\nMN\r\n"));
        line = meta().add(Command.SET, "a").add(Command.SET, "b");
        line.confirmed();
        assertEquals(List.of("0 uncertain x", "1 uncertain x"),
                line.receive("SERVER_ERROR x\r\nMN\r\n"));
    }

    @Test
    void anErrorStandsForAWholeLineOfGets() {
        Line line = meta().add(Command.GET, "a").add(Command.GET, "b");
        line.sealed(true);
        assertEquals(List.of("0 failed no", "1 failed no"), line.receive("SERVER_ERROR no\r\n"));
        line = meta().add(Command.STATS, "k");
        line.sealed(true);
        assertEquals(List.of("0 DONE a 1\nb c d"),
                line.receive("STAT a 1\r\nSTAT b c d\r\nEND\r\n"));
    }

    @Test
    void answersThatBelongToNothingAreErrors() {
        violated(Violation.UNSOLICITED_ANSWER, meta(), "END\r\n");
        violated(Violation.UNSOLICITED_ANSWER, meta(), "SERVER_ERROR too many connections\r\n");
        for (String answer : List.of("VA 1 O2\r\nx\r\n", "VA 1\r\nx\r\n", "VA 1 Ox\r\nx\r\n")) {
            violated(Violation.OPAQUE_MISMATCH, meta().add(Command.GETS, "k"), answer);
        }
        for (String answer : List.of("HD O1\r\n", "END\r\n", "MN\r\n", "5\r\n", "STAT a b\r\n")) {
            violated(Violation.UNEXPECTED_ANSWER, meta().add(Command.GETS, "k"), answer);
        }
        violated(Violation.BAD_FIELD, meta().add(Command.INCR, "k"), "VA 1 O1\r\nx\r\n");
        violated(Violation.UNEXPECTED_ANSWER, new Line(Dialect.CLASSIC).add(Command.SET, "k"),
                "DELETED\r\n");
        violated(Violation.KEY_MISMATCH, meta().add(Command.GET, "a"), "VALUE z 0 1\r\nx\r\n");
        violated(Violation.KEY_MISMATCH, meta().add(Command.GET, "a"),
                "VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\n");
        violated(Violation.KEY_MISMATCH, meta().add(Command.GET, "a").add(Command.GET, "b"),
                "VALUE b 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\n");
        violated(Violation.UNSOLICITED_ANSWER, meta().add(Command.SET, "a"), "MN\r\n");
        violated(Violation.TOO_MANY_ERRORS, meta().add(Command.SET, "a"), "ERROR\r\nERROR\r\n");
    }

    @Test
    void hostileBytesAreTypedErrors() {
        Line none = meta();
        violated(Violation.LINE_TOO_LONG, none, "X".repeat(2_048));
        for (String answer : List.of("HD\n", "\n", "VA 2\r\nhix\n")) {
            violated(Violation.BAD_LINE_END, none, answer);
        }
        for (String answer : List.of("HTTP/1.1 400\r\n", "\r\n", " END\r\n", "\u00ff\r\n")) {
            violated(Violation.UNKNOWN_ANSWER, none, answer);
        }
        for (String answer : List.of("VA\r\n", "VA -1\r\n", "VA 2 cx\r\nhi\r\n", "VALUE a 0\r\n",
                "VALUE a 4294967296 1\r\nx\r\n", "18446744073709551616\r\n", "HD tx\r\n",
                "99999999999999999999\r\n", "HD t-9223372036854775809\r\n")) {
            violated(Violation.BAD_FIELD, none, answer);
        }
        for (String bytes : List.of("1048577", "18446744073709551615", "9223372036854775807")) {
            violated(Violation.VALUE_TOO_LONG, none, "VA " + bytes + "\r\n");
        }
    }

    private static void violated(Violation violation, Line line, String answer) {
        line.sealed(true);
        ProtocolError error =
                assertThrows(ProtocolError.class, () -> line.receive(answer), answer);
        assertEquals(violation, error.violation(), answer);
    }

    @Test
    void randomAnswersNeverBreakTheClientAndCutsDoNotMatter() {
        Command[] commands = {Command.GET, Command.GETS, Command.SET, Command.ADD, Command.DELETE,
            Command.INCR, Command.TOUCH, Command.STATS, Command.VERSION};
        for (int seed = 0; seed < 20_000; seed++) {
            Random random = new Random(seed);
            Dialect dialect = Dialect.values()[random.nextInt(2)];
            Line whole = new Line(dialect);
            Line cut = new Line(dialect);
            for (int at = random.nextInt(12); at > 0; at--) {
                Command command = commands[random.nextInt(commands.length)];
                String key = "k" + random.nextInt(4);
                whole.add(command, key);
                cut.add(command, key);
            }
            whole.confirmed();
            cut.confirmed();
            StringBuilder text = new StringBuilder();
            for (int at = random.nextInt(16); at > 0; at--) {
                text.append(PIECES.get(random.nextInt(PIECES.size())));
            }
            byte[] answers = text.toString().getBytes(ISO_8859_1);
            if (answers.length > 0 && random.nextInt(4) == 0) {
                answers[random.nextInt(answers.length)] = (byte) random.nextInt();
            }
            Violation ofWhole = feed(whole, answers, answers.length);
            Violation ofCut = feed(cut, answers, 1 + random.nextInt(20));
            assertEquals(ofWhole, ofCut, "seed " + seed);
            assertEquals(whole.results, cut.results, "seed " + seed);
            List<Operation> lost = new ArrayList<>();
            whole.pipeline.clear(lost::add);
            assertEquals(whole.operations.size(), whole.results.size() + lost.size(),
                    "every operation ends once, seed " + seed);
        }
    }

    /** Hands over the answers in pieces; the violation, or {@code null}. */
    private static Violation feed(Line line, byte[] answers, int piece) {
        int begin = 0;
        for (int end = 0; end < answers.length;) {
            end = Math.min(answers.length, end + Math.max(1, piece));
            try {
                begin += line.pipeline.receive(answers, begin, end, line::done);
            } catch (ProtocolError error) {
                return error.violation();
            }
        }
        return null;
    }
}
