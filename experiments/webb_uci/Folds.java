// Cross-validation of classifiers of Weka over folds that are given.
//
//   javac -cp weka.jar Folds.java
//   java -cp weka.jar:. Folds table.arff folds.txt "class [options]" ...
//
// folds.txt has the fold of every row, one a line. Prints for each classifier: its number, the share of rows answered
// wrongly (the mean over folds), and the seconds for learning and answering all folds.
import java.io.BufferedReader;
import java.io.FileReader;
import java.util.ArrayList;
import java.util.List;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.Utils;

public class Folds {
    public static void main(String[] arguments) throws Exception {
        Instances table = new Instances(new BufferedReader(new FileReader(arguments[0])));
        table.setClassIndex(table.numAttributes() - 1);
        List<Integer> fold = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(new FileReader(arguments[1]))) {
            for (String line; (line = lines.readLine()) != null; ) fold.add(Integer.parseInt(line));
        }
        int folds = fold.stream().max(Integer::compare).get() + 1;
        for (int which = 2; which < arguments.length; which++) {
            double errors = 0;
            long start = System.nanoTime();
            for (int part = 0; part < folds; part++) {
                Instances train = new Instances(table, 0), test = new Instances(table, 0);
                for (int row = 0; row < table.numInstances(); row++)
                    (fold.get(row) == part ? test : train).add(table.instance(row));
                String[] options = Utils.splitOptions(arguments[which]);
                String name = options[0];
                options[0] = "";
                Classifier model = Classifier.forName(name, options);
                model.buildClassifier(train);
                double wrong = 0;
                for (int row = 0; row < test.numInstances(); row++)
                    if (model.classifyInstance(test.instance(row)) != test.instance(row).classValue()) wrong++;
                errors += wrong / test.numInstances();
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.println((which - 2) + " " + errors / folds + " " + seconds);
        }
    }
}
