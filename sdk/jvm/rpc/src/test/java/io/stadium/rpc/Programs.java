package io.stadium.rpc;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** Programs of other languages, which environment variables name. */
public final class Programs {
    private Programs() {}

    /** The program of a variable. Without it the test is skipped, or fails with -Pinterop. */
    public static String named(String variable) {
        String program = System.getenv(variable);
        if (Boolean.getBoolean("stadium.interop")) {
            assertNotNull(program, variable + " must name a program");
        }
        assumeTrue(program != null);
        return program;
    }
}
