// Cross-validation of classifiers of Weka over folds that are given.
//
//   javac -cp weka.jar Folds.java
//   java -cp weka.jar:. Folds table.arff folds.txt "class [options]" ...
//
// folds.txt has the fold of every row, one a line. Prints for each classifier: a line with the seconds of the processor
// for learning all folds and for answering them, and then a line with the probabilities of every row of the table.
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.Utils;

public class Folds {
    static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();

    public static void main(String[] arguments) throws Exception {
        Instances table = new Instances(new BufferedReader(new FileReader(arguments[0])));
        table.setClassIndex(table.numAttributes() - 1);
        List<Integer> fold = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(new FileReader(arguments[1]))) {
            for (String line; (line = lines.readLine()) != null; ) fold.add(Integer.parseInt(line));
        }
        int folds = fold.stream().max(Integer::compare).get() + 1;
        PrintStream out = new PrintStream(new java.io.BufferedOutputStream(System.out));
        for (int which = 2; which < arguments.length; which++) {
            double[][] proba = new double[table.numInstances()][];
            long learning = 0, answering = 0;
            for (int part = 0; part < folds; part++) {
                Instances train = new Instances(table, 0);
                for (int row = 0; row < table.numInstances(); row++)
                    if (fold.get(row) != part) train.add(table.instance(row));
                String[] options = Utils.splitOptions(arguments[which]);
                String name = options[0];
                options[0] = "";
                Classifier model = Classifier.forName(name, options);
                long start = clock.getCurrentThreadCpuTime();
                model.buildClassifier(train);
                long learned = clock.getCurrentThreadCpuTime();
                for (int row = 0; row < table.numInstances(); row++)
                    if (fold.get(row) == part) proba[row] = model.distributionForInstance(table.instance(row));
                learning += learned - start;
                answering += clock.getCurrentThreadCpuTime() - learned;
            }
            out.println(learning / 1e9 + " " + answering / 1e9);
            for (double[] row : proba)
                out.println(Arrays.stream(row).mapToObj(Double::toString).collect(Collectors.joining(" ")));
        }
        out.flush();
    }
}
